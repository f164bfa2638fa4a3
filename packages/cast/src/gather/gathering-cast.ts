import { randomBytes, randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { hostname } from 'node:os';
import { onAbort, pause, settledWithin, within } from '@rdmc/common';
import { isLoopbackHost } from '@rdmc/mesh/sockets';
import { concluded } from '../cast-conclusion.js';
import type { CastProgress } from '../cast-progress.js';
import type { CastSummary } from '../cast-summary.js';
import { castTrace } from '../cast-trace.js';
import { type CheckedCastOptions, duplicateHost } from '../checked-cast-options.js';
import type { GatheringOptions } from '../checked-gathering.js';
import { CALL_AGAIN_MS, LAST_FRAME_TIMEOUT_MS } from '../constants.js';
import type { Invitation } from '../control/frames.js';
import { AbortError, CastError, invalidOption, toCastError } from '../errors.js';
import type { Latest } from '../latest.js';
import { ProblemList } from '../problems.js';
import type { OriginFacts } from '../pull/origin.js';
import { PullReaderThread } from '../pull/pull-reader-thread.js';
import { Swarm } from '../pull/swarm.js';
import { routeOf } from '../route.js';
import { type CalledReceiver, callReceiver } from './call-receiver.js';
import { GatheredReceiver } from './gathered-receiver.js';
import { GatheringProgress } from './gathering-progress.js';

/** Errors after which a receiver may answer a later call. */
const PASSING = new Set(['ERR_RDMC_CAST_UNREACHABLE', 'ERR_RDMC_UNKNOWN_HOST', 'ERR_RDMC_BUSY']);
/** Errors after which a receiver that has answered, and was lost, may answer a later call: it may have been started again. */
const LOST = new Set([
  ...PASSING,
  ...['ERR_RDMC_RECEIVER_LOST', 'ERR_RDMC_RECEIVER_STALLED', 'ERR_RDMC_SENDER_LOST', 'ERR_RDMC_ABORTED'],
]);

type SummedFacts = Pick<
  OriginFacts,
  'files' | 'directories' | 'links' | 'bytes' | 'problems' | 'problemCount'
>;
const NO_FACTS: SummedFacts = {
  ...{ files: 0, directories: 0, links: 0, bytes: 0 },
  ...{ problems: [], problemCount: 0 },
};
const NOTHING_SENT = { sentFiles: 0, sentBytes: 0 };

interface Options extends CheckedCastOptions {
  readonly gathering: GatheringOptions;
}

/**
 * A cast to receivers that begin at different times: the sender calls them, and serves those that answer as a server serves
 * its fetchers (`pull/swarm.ts`).
 */
export class GatheringCast {
  readonly #reader = new PullReaderThread();
  readonly #receivers: readonly GatheredReceiver[];
  readonly #progress: GatheringProgress;
  readonly #castId = randomUUID();
  readonly #began = performance.now();
  readonly #over = new AbortController();
  /** Aborted when receivers that do not answer are not called any more. */
  readonly #window = new AbortController();
  /** By the instance of the receiver. */
  readonly #byInstance = new Map<string, GatheredReceiver>();
  #facts: Promise<OriginFacts> | undefined;
  #swarm: Swarm | undefined;
  /** Whether the swarm's receivers are on loopback. */
  #isInside = false;

  constructor(
    private readonly paths: readonly Uint8Array[],
    private readonly options: Options,
    latest: Latest<CastProgress>,
  ) {
    this.#receivers = options.to.map((target) => new GatheredReceiver(target));
    this.#progress = new GatheringProgress(this.#receivers, latest);
    // Each receiver that is called listens to them.
    setMaxListeners(0, this.#over.signal, this.#window.signal);
  }

  /** @throws CastError where no receiver got anything; AbortError */
  run(): Promise<CastSummary> {
    return castTrace.promise(
      () => ({ paths: this.paths.length, receivers: this.options.to.map(({ name }) => name) }),
      () => this.#run(),
    );
  }

  async #run(): Promise<CastSummary> {
    const { signal, rules, listed, gathering } = this.options;
    const forget = onAbort(signal, () => this.#over.abort(new AbortError('the cast', signal!)));
    const timer = setTimeout(() => this.#endWindow(), gathering.joinWindowMs);
    this.#facts = this.#reader.survey({ paths: this.paths, rules, listed });
    this.#facts.then(
      (facts) => {
        this.#progress.facts = facts;
      },
      (error: unknown) => this.#over.abort(error),
    );
    const attending = Promise.all(this.#receivers.map((receiver) => this.#attend(receiver)));
    try {
      await within(attending, { signal: this.#over.signal });
      return concluded(this.#summary(await this.#facts, await this.#sentFiles()));
    } catch (error) {
      const failure = signal?.aborted
        ? new AbortError('the cast', signal)
        : toCastError(error, 'ERR_RDMC_CAST_PROTOCOL');
      this.#over.abort(failure);
      this.#swarm?.abort(failure);
      throw failure;
    } finally {
      clearTimeout(timer);
      forget();
      this.#window.abort();
      await settledWithin(attending, LAST_FRAME_TIMEOUT_MS);
      await this.#swarm?.close();
      await this.#reader.end();
      this.#progress.end();
    }
  }

  /** Calls a receiver until it answers, and serves it. Errors are kept in the receiver. */
  async #attend(receiver: GatheredReceiver): Promise<void> {
    for (;;) {
      const called = await this.#call(receiver);
      if (!called) break;
      const { link } = called;
      receiver.link = link;
      receiver.attempts += 1;
      const swarm = this.#join(receiver, called);
      if (!swarm) break;
      await swarm.serve(link);
      if (link.done || this.#over.signal.aborted) break;
      // One that was lost while the others were awaited is called again, as one that has not answered.
      const isLate = swarm.isOpen || this.#window.signal.aborted;
      const isRefused = !LOST.has(link.failure?.code ?? '');
      if ((isLate || isRefused) && receiver.attempts > this.options.retries) break;
      await pause(CALL_AGAIN_MS, this.#over.signal);
    }
    receiver.isOver = true;
    this.#progress.publish();
    this.#checkNumber();
  }

  /** Undefined where it does not answer in the window, or refuses; and at the end of the cast. */
  async #call(receiver: GatheredReceiver): Promise<CalledReceiver | undefined> {
    const { sockets, connectTimeoutMs: timeoutMs, logger } = this.options;
    const { target, name } = receiver;
    while (!this.#over.signal.aborted) {
      try {
        const dialling = { sockets, timeoutMs, signal: this.#over.signal };
        return await callReceiver(target, dialling, this.#invitation());
      } catch (error) {
        const failure = toCastError(error, 'ERR_RDMC_CAST_UNREACHABLE');
        receiver.callError = failure;
        if (!PASSING.has(failure.code)) return undefined;
        logger?.debug?.({ receiver: name, code: failure.code }, failure.message);
      }
      if (this.#window.signal.aborted) break;
      await pause(CALL_AGAIN_MS, this.#window.signal);
    }
    return undefined;
  }

  /** Undefined where the receiver cannot take part. */
  #join(receiver: GatheredReceiver, { link, instance }: CalledReceiver): Swarm | undefined {
    const other = this.#byInstance.get(instance);
    if (other && other !== receiver) {
      link.fail(duplicateHost(other.name, receiver.name));
      return undefined;
    }
    this.#byInstance.set(instance, receiver);
    this.#swarm ??= this.#openSwarm(link.localHost, isLoopbackHost(link.remoteHost));
    if (isLoopbackHost(link.remoteHost) === this.#isInside) return this.#swarm;
    const where = this.#isInside ? 'beyond loopback' : 'on loopback';
    const message = `to: ${receiver.name} is ${where}, and the others are not, so they cannot reach it; give addresses that all can reach`;
    link.fail(invalidOption(message));
    return undefined;
  }

  #openSwarm(localHost: string, isInside: boolean): Swarm {
    const { options } = this;
    this.#isInside = isInside;
    const swarm = new Swarm({
      ...{ castId: this.#castId, localHost, reader: this.#reader, facts: this.#facts!, options },
      name: '',
      least: options.gathering.waitFor,
      report: () => this.#progress.publish(),
      onGroup: (group, { node, contact, messageBytes }, blockBytes) => {
        this.#progress.route ??= {
          ...routeOf(node.device, group.transports),
          ...{ algorithm: 'binomial-pipeline', messageBytes, blockBytes, address: contact },
          algorithmReason: 'receivers may join between two messages',
          blockReason: 'for the receivers that are there at the beginning',
          encrypted: options.encrypt,
          compression: null,
        };
      },
    });
    this.#progress.swarm = swarm;
    return swarm;
  }

  #endWindow(): void {
    this.#window.abort();
    this.#checkNumber();
  }

  /** Ends the cast where not enough receivers can be ready at the same time any more. */
  #checkNumber(): void {
    const { waitFor, joinWindowMs } = this.options.gathering;
    if (this.#swarm?.isOpen || this.#over.signal.aborted) return;
    const isClosed = this.#window.signal.aborted;
    // Those that are being called now may still answer.
    const possible = this.#receivers.filter(({ isOver }) => !isOver).length;
    if (possible >= waitFor) return;
    const lost = this.#receivers.find(({ callError, isHere }) => callError && !isHere)?.callError;
    const because = lost ? `: ${lost.message}` : '';
    const limit = isClosed ? ` within ${joinWindowMs} ms` : '';
    const message = `${possible} of the ${waitFor} receivers that are needed answered${limit}, so nothing was sent${because}`;
    for (const receiver of this.#receivers) {
      receiver.isOver = true;
      receiver.callError ??= new CastError('ERR_RDMC_TOO_FEW_RECEIVERS', message);
    }
    const summary = this.#summary(this.#progress.facts ?? NO_FACTS);
    this.#over.abort(new CastError('ERR_RDMC_TOO_FEW_RECEIVERS', message, { summary }));
  }

  #invitation(): Invitation {
    const { options } = this;
    const { connectTimeoutMs, stallTimeoutMs, encrypt, comparison, gathering } = options;
    return {
      type: 'invite',
      castId: this.#castId,
      senderName: hostname(),
      ...{ files: 0, directories: 0, links: 0, bytes: 0, contentBytes: 0 },
      ...{ connectTimeoutMs, stallTimeoutMs, trafficClass: 0, serviceLevel: 0 },
      // Pieces have hashes of their own.
      ...{ checksum: 'sha256', checksumKey: randomBytes(32).toString('hex') },
      encrypted: encrypt,
      gathering: { by: comparison?.by ?? 'none', resume: gathering.resume },
    };
  }

  /** Files that were sent to one receiver at least. */
  async #sentFiles(): Promise<{ readonly sentFiles: number; readonly sentBytes: number }> {
    const pieces: number[] = [];
    for (const [piece, isSent] of this.#swarm?.sent.entries() ?? []) if (isSent !== 0) pieces.push(piece);
    const { files, bytes } = await this.#reader.filesOf(Uint32Array.from(pieces));
    // Empty files do not have pieces.
    const stored = Math.max(0, ...this.#receivers.map(({ link }) => link?.done?.files ?? 0));
    return { sentFiles: Math.max(stored, files), sentBytes: bytes };
  }

  #summary(facts: SummedFacts, sent = NOTHING_SENT): CastSummary {
    const { files, directories, links, bytes } = facts;
    const problems = new ProblemList();
    problems.addAll(facts.problems, facts.problemCount);
    for (const { problems: its } of this.#receivers) problems.addAll(its.kept, its.count);
    return {
      ...{ files, directories, links, bytes },
      ...sent,
      encrypted: this.options.encrypt,
      transferredBytes: this.#swarm?.sentBytes ?? 0,
      seconds: (performance.now() - this.#began) / 1000,
      receivers: this.#receivers.map((receiver) => receiver.summary()),
      problems: problems.kept,
      problemCount: problems.count,
    };
  }
}
