import { settledWithin } from '@rdmc/common';
import type { Group } from '@rdmc/group';
import type { CheckedCastOptions } from '../checked-cast-options.js';
import { FIRST_GROUP_ID, LOSS_GRACE_MS, MAX_BLAMES, SENDER_ID } from '../constants.js';
import type { GroupFacts } from '../control/frames.js';
import { CastError, codeOf, messageOf } from '../errors.js';
import type { Gathered } from './gathering.js';
import { groupFacts } from './membership.js';
import type { Pump } from './pump.js';
import type { ReceiverLink } from './receiver-link.js';

const OWN_FAILURES = new Set(['ERR_RDMC_DATAPLANE_DIED', 'ERR_RDMC_POST_FAILED', 'ERR_RDMC_INVALID_REGION']);

/** Sends the stream: in one group, and where that fails, in another one of its survivors, from where they are on. */
export class Streaming {
  /** Groups that failed with no receiver to blame. */
  #unattributed = 0;

  constructor(
    private readonly gathered: Gathered,
    private readonly pump: Pump,
    private readonly options: CheckedCastOptions,
    private readonly signal: AbortSignal,
    /** Hears of every group as soon as it is formed. */
    private readonly onGroup: (group: Group) => void,
  ) {
    // The mesh learns of every receiver that is out, so that the group it is in fails at once.
    for (const link of gathered.links) void link.down.then(() => this.#report(link));
  }

  /** Returns the number of messages, all of which all who live have; undefined where nobody is left. */
  async run(): Promise<number | undefined> {
    let nextMessage = 0;
    for (let id = FIRST_GROUP_ID; ; id += 1) {
      const links = this.#living;
      if (links.length === 0) return undefined;
      const { blockBytes } = this.gathered;
      const facts = groupFacts(id, links, { ...this.options, blockBytes });
      if (id > FIRST_GROUP_ID) {
        for (const link of links) link.send({ type: 'regroup', group: facts, nextMessage });
      }
      try {
        await this.#sendIn(facts, nextMessage);
        return this.pump.messages!;
      } catch (error) {
        if (this.signal.aborted || this.#isHopeless(error)) throw error;
        this.options.logger?.warn?.(
          { group: id, reason: messageOf(error) },
          'a group failed; its survivors go on',
        );
        const received = await this.#survivors(id, links, error);
        if (received === undefined) return undefined;
        nextMessage = received;
        if (nextMessage === this.pump.messages) return nextMessage;
      }
    }
  }

  /** This receiver is out. */
  drop(link: ReceiverLink, error: CastError): void {
    link.fail(error);
    this.options.logger?.warn?.({ receiver: link.name, code: error.code }, error.message);
  }

  /** No group of survivors would help: it is this end that fails, or nobody knows whom to leave out. */
  #isHopeless(error: unknown): boolean {
    if (error instanceof CastError || OWN_FAILURES.has(codeOf(error) ?? '')) return true;
    const { memberId = SENDER_ID, missing = [] } = error as {
      memberId?: number;
      missing?: readonly number[];
    };
    if (memberId === SENDER_ID && missing.length === 0) this.#unattributed += 1;
    return this.#unattributed > MAX_BLAMES;
  }

  get #living(): ReceiverLink[] {
    return this.gathered.links.filter(({ alive }) => alive);
  }

  async #sendIn({ id, members, racks }: GroupFacts, nextMessage: number): Promise<void> {
    const { blockBytes } = this.gathered;
    const { algorithm, connectTimeoutMs, stallTimeoutMs } = this.options;
    const forming = this.gathered.node.createGroup({
      ...{ id, members, algorithm, blockBytes },
      ...(racks && { racks }),
      // A member is judged by the stall watch, which knows more than the devices.
      retryTimeoutMs: stallTimeoutMs,
      timeoutMs: connectTimeoutMs,
      signal: this.signal,
    });
    forming.then(
      (group) => this.onGroup(group),
      () => {},
    );
    try {
      await this.pump.run(forming, nextMessage);
    } catch (error) {
      const group = await forming;
      // Where the group lives, the reader has failed, and nothing more can be sent.
      if (!group.signal.aborted) await group.close({ signal: AbortSignal.abort() }).catch(() => {});
      throw error;
    }
    await (await forming).close();
  }

  /** After a failure: the first message that one of those left lacks. Undefined where nobody is left. */
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

  /** Whoever a group failed with is given a moment to be seen failing; who lives on is dropped the second time. */
  async #blame(links: readonly ReceiverLink[], error: unknown): Promise<void> {
    const { memberId, missing = [] } = error as { memberId?: number; missing?: readonly number[] };
    const culprits = links.filter(({ id, alive }) => alive && (id === memberId || missing.includes(id)));
    await Promise.all(culprits.map((link) => this.#blameOne(link, error)));
  }

  async #blameOne(link: ReceiverLink, error: unknown): Promise<void> {
    await settledWithin(link.down, LOSS_GRACE_MS);
    link.blames += 1;
    if (!link.alive || link.blames < MAX_BLAMES) return;
    const message = `${link.name} was lost by the others: ${messageOf(error)}`;
    this.drop(link, new CastError('ERR_RDMC_RECEIVER_LOST', message, { cause: error, receiver: link.name }));
  }

  #report(link: ReceiverLink): void {
    if (this.signal.aborted) return;
    this.gathered.node.mesh.reportFailure(
      link.id,
      link.failure?.message.slice(0, 200) ?? 'the sender dropped it',
    );
  }
}
