import type { GroupCore } from './group-core.js';
import type { GroupEnd } from './group-end.js';
import { errorOfOutcome } from './stable/outcome-error.js';
import { ranksOf } from './stable/ranks.js';
import { StableDelivery, type StableEnd, type StablePort } from './stable/stable-delivery.js';
import { type Row, sameCounts } from './stable/survivor-rules.js';
import type { Verdict } from './wire-messages.js';

/** The functions of the failure handling that the agreement calls. */
export interface AgreementPort {
  /** Another member has stopped because of that failure. */
  stopped(verdict: Verdict): void;
  /** A member broke the protocol. */
  violated(member: number, reason: string): void;
}

/**
 * Stable delivery of a group: while the group is open, it lets messages through that all members have. When a member fails,
 * it ends the group once the survivors agree on the messages that all of them deliver.
 */
export class GroupAgreement implements StablePort {
  #stable: StableDelivery | undefined;
  #verdict: Verdict | undefined;
  /** Members that do not answer any more. Those that left with the decision in their rows are not lost. */
  readonly #gone = new Set<number>();

  constructor(
    private readonly core: GroupCore,
    private readonly end: GroupEnd,
    private readonly failure: AgreementPort,
  ) {}

  /** Whether the group has stable delivery. */
  get isOn(): boolean {
    return this.#stable !== undefined;
  }

  /** The group is open. */
  start(): void {
    const { formation, options, neighbourhood } = this.core;
    const { table } = formation.links;
    if (!table) return;
    const { members, quorum, order } = options;
    const senders = this.core.senders.map((sender) => members.indexOf(sender));
    const counting = { senders, counts: this.core.receives, ownToo: order === 'total' };
    const setting = { members: members.length, rank: neighbourhood.rank, quorum, ...counting };
    this.#stable = new StableDelivery(table, setting, this);
  }

  /** This member has so many messages of each sender whole and in order. */
  received(counts: readonly number[]): void {
    this.#stable?.received(counts);
  }

  /** Other members have changed their rows. */
  look(): void {
    this.#stable?.look();
  }

  /** A member is lost, or a link of the table to it broke: it changes its row no more. */
  lose(member: number): void {
    if (!this.core.options.members.includes(member)) return;
    this.#gone.add(member);
    // What that member wrote before is in the table.
    if (this.core.state === 'agreeing') this.look();
    if (this.core.state === 'agreeing') this.#stable!.lose(this.#rankOf(member));
  }

  /** Whether this member does not listen to that one any more. */
  suspects(member: number): boolean {
    return this.#stable?.suspects(this.#rankOf(member)) ?? false;
  }

  /** A member has failed: the survivors agree, and then the group ends. */
  begin(verdict: Verdict | undefined, lost: readonly number[]): void {
    const { core } = this;
    core.state = 'agreeing';
    core.sender.queue.stop();
    core.reception.freeze();
    this.#verdict = verdict;
    for (const member of lost) this.#stable!.lose(this.#rankOf(member));
    this.#stable!.wedge(core.receives ? core.reception.ordered : [this.numbered()]);
    // Behind the first look at the table, because a member that has ended may have written the decision.
    for (const member of this.#gone) this.lose(member);
  }

  /** Every member has all messages: the group cannot fail any more. Resolves when the others know. */
  async conclude(): Promise<void> {
    const { core } = this;
    const totals = core.barrier.totals!;
    core.reception.stable(totals);
    if (!this.#stable) return;
    this.#stable.conclude(totals);
    await this.#stable.settle(core.options.retryTimeoutMs);
  }

  numbered(): number {
    return this.core.sender.queue.count;
  }

  stable(counts: readonly number[]): void {
    const { reception, barrier, state } = this.core;
    if (state !== 'open') return;
    reception.stable(counts);
    if (barrier.ownPartDone && reception.hasDelivered(barrier.totals!)) reception.inbox.end();
  }

  stopped(rank: number, row: Row): void {
    const { state, barrier } = this.core;
    if (state !== 'open') return;
    const { members } = this.core.options;
    if (row.isDecided && row.excluded === 0) {
      // That member has seen all confirmations, so the one of this member too.
      if (barrier.ownPartDone && sameCounts(row.trim, barrier.totals!)) this.begin(undefined, []);
      else this.violated(rank, 'it wrote that this member has all messages');
      return;
    }
    const [suspect = rank] = ranksOf(row.suspected);
    const reason = `member ${members[rank]} reported that it is lost`;
    this.failure.stopped({ culprit: members[suspect]!, code: 'ERR_RDMC_MEMBER_LOST', reason });
  }

  ended(end: StableEnd, row: Row): void {
    if (this.core.state === 'agreeing') void this.#finish(end, row);
  }

  violated(rank: number, reason: string): void {
    this.failure.violated(this.core.options.members[rank]!, reason);
  }

  kick(): void {
    const { environment, slot } = this.core;
    environment.link.commands.kickTable(slot.number);
  }

  async settle(skippedLinks: number): Promise<void> {
    const { environment, slot } = this.core;
    await environment.link.commands.settleTable(slot.number, skippedLinks);
  }

  async #finish(end: StableEnd, row: Row): Promise<void> {
    const { core } = this;
    const { id, members, retryTimeoutMs, order } = core.options;
    core.state = 'ending';
    if (end === 'agreed') {
      if (core.receives) core.reception.trim(row.trim);
      // A member that leaves before the others have its row could take the majority with it.
      await this.#stable!.settle(retryTimeoutMs);
    } else {
      // Members that do not suspect this one would wait for its row.
      const reason = 'it ended without an agreement of the survivors';
      core.messenger.failed({ culprit: core.memberId, code: 'ERR_RDMC_GROUP_MINORITY', reason });
    }
    const { delivered, deliveredFrom } = core.reception;
    const counts = { delivered, deliveredFrom, receives: core.receives };
    const group = { id, members, senders: core.options.senders, order, ownId: core.memberId, ...counts };
    const verdict = this.#verdict;
    // Only a leader that breaks the protocol decides on messages that a survivor does not have.
    const isWhole = !core.receives || end !== 'agreed' || core.reception.hasDelivered(row.trim);
    // Another member has concluded: every member has all messages, although one has failed since.
    const { ownPartDone, totals } = core.barrier;
    const isComplete = end === 'agreed' && row.excluded === 0 && ownPartDone && sameCounts(row.trim, totals!);
    await this.end.finish(async () =>
      verdict && !isComplete ? errorOfOutcome(group, isWhole ? end : 'excluded', row, verdict) : undefined,
    );
  }

  #rankOf(member: number): number {
    return this.core.options.members.indexOf(member);
  }
}
