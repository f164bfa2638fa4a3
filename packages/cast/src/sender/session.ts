import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Group, RdmcNode } from '@rdmc/group';
import type { CheckedCastOptions, Target } from '../checked-cast-options.js';
import * as limits from '../constants.js';
import type { GroupFacts, Invitation } from '../control/frames.js';
import { CastError, type CastErrorCode, codeOf, messageOf } from '../errors.js';
import type { FileSurvey } from '../file-survey.js';
import { joinMesh } from '../join-mesh.js';
import { messageSize } from '../message-size.js';
import { listenAt, portOf } from '../ports.js';
import type { CastReport } from '../reader/orders.js';
import type { Board } from './board.js';
import { resolveHosts } from './dial.js';
import { describeOwn, groupFacts, membersOf, ownAddress, refuseTwins } from './membership.js';
import { Pump } from './pump.js';
import { ReaderThread } from './reader-thread.js';
import { ReceiverLink } from './receiver-link.js';
import { StallWatch } from './stall-watch.js';
import { TokenBucket } from './token-bucket.js';

/** What one attempt has come to. */
export interface SessionOutcome {
  readonly links: readonly ReceiverLink[];
  readonly survey: FileSurvey;
  /** Undefined where nothing was sent. */
  readonly report: CastReport | undefined;
}

/** Casts once to some receivers: connects, sends in one group after the other as receivers fail, and ends. */
export class Session {
  readonly #reader = new ReaderThread();
  readonly #over = new AbortController();
  readonly #messageLimit: number;
  #links: ReceiverLink[] = [];
  #node: RdmcNode | undefined;
  #watch: StallWatch | undefined;
  #pump: Pump | undefined;

  constructor(
    private readonly paths: readonly Uint8Array[],
    private readonly targets: readonly Target[],
    private readonly options: CheckedCastOptions,
    private readonly board: Board,
  ) {
    const { messageBytes, bandwidthLimit = Number.POSITIVE_INFINITY } = options;
    const share = Math.floor(bandwidthLimit / limits.LIMITED_MESSAGES_PER_SECOND);
    this.#messageLimit = Math.max(limits.MIN_MESSAGE_BYTES, Math.min(messageBytes, share));
  }

  /** @throws CastError where nothing can be sent to anybody, whatever the receivers do; and ERR_RDMC_ABORTED */
  async run(): Promise<SessionOutcome> {
    const { signal } = this.options;
    const onAbort = (): void => this.#over.abort(abortedError(signal!));
    signal?.addEventListener('abort', onAbort, { once: true });
    if (signal?.aborted) onAbort();
    let failure: CastError | undefined;
    try {
      return await Promise.race([this.#cast(), rejectsOnAbort(this.#over.signal)]);
    } catch (error) {
      failure = asCastError(error);
      throw failure;
    } finally {
      signal?.removeEventListener('abort', onAbort);
      await this.#end(failure);
    }
  }

  async #cast(): Promise<SessionOutcome> {
    const survey = await this.#reader.survey(this.paths);
    this.board.survey = survey;
    const messageBytes = messageSize(survey.contentBytes, this.#messageLimit);
    this.board.enter('connecting');
    if (!(await this.#gather(survey, messageBytes))) return this.#outcome(survey, undefined);
    await this.#reader.begin(this.#node!.device.handle);
    await this.#pump!.allocate(this.#node!);
    this.board.enter('sending');
    const messages = await this.#stream();
    const report = await this.#reader.report();
    if (messages === undefined) return this.#outcome(survey, report);
    this.board.enter('finishing');
    const { files, bytes } = report.totals;
    await Promise.all(this.#living.map((link) => link.finish(messages, files, bytes)));
    return this.#outcome(survey, report);
  }

  #outcome(survey: FileSurvey, report: CastReport | undefined): SessionOutcome {
    return { links: [...this.board.links.values()], survey, report };
  }

  get #living(): ReceiverLink[] {
    return this.#links.filter(({ alive }) => alive);
  }

  /** Connects to the receivers and joins the mesh with those that answer. Where one is lost on the way, again without it. */
  async #gather(survey: FileSurvey, messageBytes: number): Promise<boolean> {
    let targets = this.targets;
    while (targets.length > 0) {
      await this.#connect(targets, survey, messageBytes);
      const links = this.#living;
      if (links.length === 0) return false;
      try {
        await this.#join(links, messageBytes);
        return true;
      } catch (error) {
        if (this.#over.signal.aborted) throw error;
        await this.#blameForJoin(links, error);
      }
      const left = links.filter(({ alive }) => alive);
      const again = new CastError(
        'ERR_RDMC_ABORTED',
        'the sender begins again without a receiver that was lost',
      );
      await Promise.all(left.map((link) => link.close(again)));
      targets = left.map(({ target }) => target);
    }
    return false;
  }

  async #connect(targets: readonly Target[], survey: FileSurvey, messageBytes: number): Promise<void> {
    const { sockets, connectTimeoutMs: timeoutMs } = this.options;
    const resolved = await resolveHosts(targets);
    this.#links = targets.map((target) => new ReceiverLink(target));
    for (const link of this.#links) this.board.links.set(link.name, link);
    const addresses = new Map<string, string>();
    for (const [host, address] of resolved) if (typeof address === 'string') addresses.set(host, address);
    const invitation = this.#invitation(survey, messageBytes);
    await Promise.all(
      this.#links.map(async (link) => {
        const address = resolved.get(link.target.host);
        if (address instanceof CastError) link.fail(address);
        else await link.open({ sockets, addresses, timeoutMs, signal: this.#over.signal }, () => invitation);
      }),
    );
    this.#over.signal.throwIfAborted();
    refuseTwins(this.#links);
  }

  #invitation(survey: FileSurvey, messageBytes: number): Invitation {
    const { files, directories, links, bytes, contentBytes } = survey;
    const { connectTimeoutMs, stallTimeoutMs } = this.options;
    return {
      type: 'invite',
      castId: randomUUID(),
      senderName: hostname(),
      ...{ files, directories, links, bytes, contentBytes },
      ...{ messageBytes, connectTimeoutMs, stallTimeoutMs },
    };
  }

  async #join(links: readonly ReceiverLink[], messageBytes: number): Promise<void> {
    const { key, device, transport, connectTimeoutMs, stallTimeoutMs, logger, advertise } = this.options;
    const own = ownAddress(links, advertise);
    const server = await listenAt(own.localHost, 0);
    const port = portOf(server);
    const members = membersOf(own, port, links);
    const group = groupFacts(limits.FIRST_GROUP_ID, links, this.options);
    for (const link of links) link.send({ type: 'members', id: link.id, members, group });
    // Whoever is lost now would be waited for until the time-out.
    const lost = new AbortController();
    for (const link of links) void link.down.then(() => lost.abort());
    this.#node = await joinMesh({
      id: limits.SENDER_ID,
      members,
      server,
      localHost: own.localHost,
      ports: undefined,
      key,
      device,
      transport,
      timeoutMs: connectTimeoutMs,
      signal: AbortSignal.any([this.#over.signal, lost.signal]),
      logger,
    });
    const bucket = new TokenBucket(this.options.bandwidthLimit);
    const confirmed = (): number =>
      Math.min(...this.#living.map(({ progress }) => progress.receivedMessages));
    this.#pump = new Pump(this.#reader, bucket, messageBytes, confirmed);
    this.board.pump = this.#pump;
    this.board.route = {
      device: `${this.#node.device.kind} ${this.#node.device.name}`,
      reason: this.#node.device.choice.reason,
      transport: this.#node.device.transport,
      algorithm: this.options.algorithm,
      messageBytes,
      address: describeOwn(own, port),
    };
    const sending = (): boolean => this.#pump!.outstanding > 0;
    this.#watch = new StallWatch(stallTimeoutMs, links, sending, (link, error) => this.#drop(link, error));
    for (const link of links) void link.down.then(() => this.#report(link));
  }

  /** The mesh names who did not come; a control connection that ends says it more plainly. */
  async #blameForJoin(links: readonly ReceiverLink[], error: unknown): Promise<void> {
    if (links.some(({ alive }) => !alive)) return;
    const missing = (error as { missing?: readonly { id: number }[] }).missing?.map(({ id }) => id) ?? [];
    const culprits = links.filter(({ id }) => missing.includes(id));
    if (culprits.length === 0) throw error;
    for (const link of culprits) {
      const message = `${link.name} did not join in time: ${messageOf(error)}`;
      link.fail(new CastError('ERR_RDMC_RECEIVER_LOST', message, { cause: error, receiver: link.name }));
    }
  }

  /** Sends everything to those who live. Undefined where nobody is left; else the number of messages. */
  async #stream(): Promise<number | undefined> {
    let nextMessage = 0;
    for (let id = limits.FIRST_GROUP_ID; ; id += 1) {
      const links = this.#living;
      if (links.length === 0) return undefined;
      const facts = groupFacts(id, links, this.options);
      if (id > limits.FIRST_GROUP_ID) {
        for (const link of links) link.send({ type: 'regroup', group: facts, nextMessage });
      }
      try {
        await this.#sendIn(facts, nextMessage);
        return this.#pump!.messages!;
      } catch (error) {
        if (this.#over.signal.aborted || isOwnFailure(error)) throw error;
        this.options.logger?.warn?.(
          { group: id, reason: messageOf(error) },
          'a group failed; its survivors go on',
        );
        const survivors = await this.#survivors(id, links, error);
        if (survivors === undefined) return undefined;
        nextMessage = survivors;
        if (nextMessage === this.#pump!.messages) return nextMessage;
      }
    }
  }

  async #sendIn({ id, members, racks }: GroupFacts, nextMessage: number): Promise<void> {
    const { algorithm, blockSizeBytes, connectTimeoutMs, stallTimeoutMs } = this.options;
    const group: Group = await this.#node!.createGroup({
      ...{ id, members, algorithm, blockSizeBytes },
      ...(racks && { racks }),
      retryTimeoutMs: stallTimeoutMs,
      timeoutMs: connectTimeoutMs,
      signal: this.#over.signal,
    });
    try {
      await this.#pump!.run(group, nextMessage);
    } catch (error) {
      // Where the group lives, the reader has failed, and nothing more can be sent.
      if (!group.signal.aborted) await group.close({ signal: AbortSignal.abort() }).catch(() => {});
      throw error;
    }
    await group.close();
  }

  /** After a failure: who is left, and which message is the first that one of them lacks. */
  async #survivors(
    groupId: number,
    links: readonly ReceiverLink[],
    error: unknown,
  ): Promise<number | undefined> {
    await this.#blame(links, error);
    const received = await Promise.all(links.map((link) => (link.alive ? link.part(groupId) : undefined)));
    const known = received.filter((messages) => messages !== undefined);
    return this.#living.length === 0 ? undefined : Math.min(...known);
  }

  /** Whoever a group failed with is given a moment to be seen failing; who lives on is dropped the second time. */
  async #blame(links: readonly ReceiverLink[], error: unknown): Promise<void> {
    const { memberId, missing = [] } = error as { memberId?: number; missing?: readonly number[] };
    const culprits = links.filter(({ id, alive }) => alive && (id === memberId || missing.includes(id)));
    await Promise.all(
      culprits.map(async (link) => {
        await Promise.race([link.down, delay(limits.LOSS_GRACE_MS)]);
        link.blames += 1;
        if (link.alive && link.blames >= limits.MAX_BLAMES) {
          const message = `${link.name} was lost by the others: ${messageOf(error)}`;
          this.#drop(
            link,
            new CastError('ERR_RDMC_RECEIVER_LOST', message, { cause: error, receiver: link.name }),
          );
        }
      }),
    );
  }

  #drop(link: ReceiverLink, error: CastError): void {
    link.fail(error);
    this.options.logger?.warn?.({ receiver: link.name, code: error.code }, error.message);
  }

  /** The mesh learns of every receiver that is out, so that the group it is in fails at once. */
  #report(link: ReceiverLink): void {
    if (this.#over.signal.aborted || this.#node === undefined) return;
    this.#node.mesh.reportFailure(link.id, link.failure?.message.slice(0, 200) ?? 'the sender dropped it');
  }

  async #end(failure: CastError | undefined): Promise<void> {
    this.#over.abort();
    this.#watch?.stop();
    const left = failure ?? undefined;
    const closing = this.#links.filter(({ alive }) => alive).map((link) => link.close(left));
    await this.#reader.end();
    await this.#node?.close();
    await Promise.all(closing);
  }
}

function isOwnFailure(error: unknown): boolean {
  const { memberId } = error as { memberId?: number };
  return (
    error instanceof CastError || memberId === limits.SENDER_ID || codeOf(error) === 'ERR_RDMC_DATAPLANE_DIED'
  );
}

function delay(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
  });
}

function rejectsOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
}

function abortedError(signal: AbortSignal): CastError {
  return new CastError('ERR_RDMC_ABORTED', 'the cast was aborted by its signal', { cause: signal.reason });
}

/** Errors of layers below keep their codes. */
function asCastError(error: unknown): CastError {
  if (error instanceof CastError) return error;
  const code = codeOf(error);
  const own = (code?.startsWith('ERR_RDMC_') ? code : 'ERR_RDMC_CAST_PROTOCOL') as CastErrorCode;
  return new CastError(own, messageOf(error), { cause: error });
}
