import { settledWithin } from '@rdmc/common';
import type { Group } from '@rdmc/group';
import type { CheckedCastOptions } from '../checked-cast-options.js';
import { FIRST_GROUP_ID, LOSS_GRACE_MS, MAX_BLAMES, SENDER_ID } from '../constants.js';
import type { GroupFacts } from '../control/frames.js';
import { CastError, codeOf, messageOf } from '../errors.js';
import { meshTimeoutMs } from '../mesh-timeout.js';
import { newSecret } from '../seal/run-key.js';
import { dropReceiver } from './drop-receiver.js';
import { groupFacts } from './membership.js';
import type { FormedMesh } from './mesh-formation.js';
import type { Pump, PumpRun } from './pump.js';
import type { ReceiverLink } from './receiver-link.js';

const OWN_FAILURES = new Set([
  'ERR_RDMC_DATAPLANE_DIED',
  'ERR_RDMC_POST_FAILED',
  'ERR_RDMC_INVALID_REGION',
  'ERR_RDMC_RELAY_UNSUPPORTED',
]);

/** A stream of a cast, and the receivers that get it. */
export interface SentStream {
  readonly number: number;
  /** Whether no further stream is planned: the cast ends with it, except where files have to be built again. */
  readonly isLast: boolean;
  readonly receivers: readonly ReceiverLink[];
  readonly pump: Pump;
}

/** One group, and what is sent to it. */
interface Run {
  readonly facts: GroupFacts;
  readonly pumped: PumpRun;
}

/**
 * Sends each stream in a group. Where that group fails, its survivors form another, which starts at the first missing
 * message.
 */
export class Streaming {
  /** Groups that failed without a receiver as the cause. */
  #unattributed = 0;
  #nextGroup = FIRST_GROUP_ID;

  constructor(
    private readonly formed: FormedMesh,
    private readonly options: CheckedCastOptions,
    private readonly signal: AbortSignal,
    /** Called with every group as soon as it is formed. */
    private readonly onGroup: (group: Group) => void,
  ) {
    // Report each lost receiver to the mesh so that its group fails immediately.
    for (const link of formed.links) void link.down.then(() => this.#report(link));
  }

  /** Sends a stream. Resolves when every receiver of it that is left has all of its messages, or when none is left. */
  async run(stream: SentStream): Promise<void> {
    const { pump } = stream;
    let nextMessage = 0;
    for (;;) {
      const links = stream.receivers.filter(({ alive }) => alive);
      if (links.length === 0) return;
      const run = this.#newRun(stream, links, nextMessage);
      const { id } = run.facts;
      for (const link of links) link.send({ type: 'group', group: run.facts, nextMessage });
      try {
        await this.#sendIn(run, pump);
        return;
      } catch (error) {
        if (this.signal.aborted || this.#isPermanent(error)) throw error;
        this.options.logger?.warn?.(
          { group: id, reason: messageOf(error) },
          'a group failed; its survivors continue',
        );
        const received = await this.#survivors(id, links, error);
        if (received === undefined || received === pump.messages) return;
        nextMessage = received;
      }
    }
  }

  /** Each run has a secret of its own: a file may change between two runs. */
  #newRun({ number, isLast }: SentStream, links: readonly ReceiverLink[], first: number): Run {
    const { choice, castId, senderName: sender } = this.formed;
    const run = this.#nextGroup++;
    const secret = this.options.encrypt ? newSecret() : undefined;
    const facts = groupFacts(run, number, links, choice, this.options.rack);
    const order = {
      seal: secret && { castId, sender, run, secret },
      isLastStream: isLast,
      outlined: this.options.checksum === 'sha256',
    };
    const onOutline = (message: number, sha256: string): void => {
      for (const link of links) link.send({ type: 'outline', groupId: run, message, sha256 });
    };
    return {
      facts: { ...facts, ...(secret && { secret: secret.toString('hex') }) },
      pumped: { first, order, onOutline },
    };
  }

  /** Whether a group of survivors would fail too: this end fails, or the cause is not known after several groups. */
  #isPermanent(error: unknown): boolean {
    if (error instanceof CastError || OWN_FAILURES.has(codeOf(error) ?? '')) return true;
    const { memberId = SENDER_ID, missing = [] } = error as {
      memberId?: number;
      missing?: readonly number[];
    };
    if (memberId === SENDER_ID && missing.length === 0) this.#unattributed += 1;
    return this.#unattributed > MAX_BLAMES;
  }

  async #sendIn({ facts: { id, members, racks }, pumped }: Run, pump: Pump): Promise<void> {
    const { algorithm, blockBytes, relay } = this.formed.choice;
    const { connectTimeoutMs, stallTimeoutMs, trafficClass, serviceLevel } = this.options;
    const forming = this.formed.node.createGroup({
      ...{ id, members, algorithm, blockBytes, relay, trafficClass, serviceLevel },
      ...(racks && { racks }),
      // A cast sends regions only.
      smallMessageBytes: 0,
      // The stall watch decides which member has stalled: it has more information than the devices.
      retryTimeoutMs: stallTimeoutMs,
      timeoutMs: meshTimeoutMs(connectTimeoutMs, members.length),
      signal: this.signal,
    });
    forming.then(
      (group) => this.onGroup(group),
      () => {},
    );
    try {
      await pump.run(forming, pumped);
    } catch (error) {
      // Where both fail, the pump's error has the cause: it may be one of this end.
      const group = await forming.catch(() => {
        throw error;
      });
      // If the group has not failed, the reader has, and nothing more can be sent.
      if (!group.signal.aborted) await group.close({ signal: AbortSignal.abort() }).catch(() => {});
      throw error;
    }
    await (await forming).close();
  }

  /** After a failure: the first message that one of the survivors lacks. Undefined where no receiver is left. */
  async #survivors(
    groupId: number,
    links: readonly ReceiverLink[],
    error: unknown,
  ): Promise<number | undefined> {
    await this.#blame(links, error);
    const parted = links.map(async (link) => ({
      link,
      messages: link.alive ? await link.part(groupId) : undefined,
    }));
    const answers = await Promise.all(parted);
    const living = answers.filter(({ link }) => link.alive);
    const received = living.flatMap(({ messages }) => messages ?? []);
    return received.length === 0 ? undefined : Math.min(...received);
  }

  /**
   * Waits a moment for the connections of the failed members to end; drops a member that has failed twice without that.
   */
  async #blame(links: readonly ReceiverLink[], error: unknown): Promise<void> {
    const { memberId, missing = [] } = error as { memberId?: number; missing?: readonly number[] };
    const failed = links.filter(({ id, alive }) => alive && (id === memberId || missing.includes(id)));
    await Promise.all(failed.map((link) => this.#blameOne(link, error)));
  }

  async #blameOne(link: ReceiverLink, error: unknown): Promise<void> {
    await settledWithin(link.down, LOSS_GRACE_MS);
    link.blames += 1;
    if (!link.alive || link.blames < MAX_BLAMES) return;
    const message = `${link.name} failed in the group of the other members: ${messageOf(error)}`;
    const failure = new CastError('ERR_RDMC_RECEIVER_LOST', message, { cause: error, receiver: link.name });
    dropReceiver(link, failure, this.options.logger);
  }

  #report(link: ReceiverLink): void {
    // After the last stream, the node closes while receivers store.
    if (this.signal.aborted || this.formed.node.signal.aborted) return;
    this.formed.node.mesh.reportFailure(
      link.id,
      link.failure?.message.slice(0, 200) ?? 'the sender dropped it',
    );
  }
}
