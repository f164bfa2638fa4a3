import type { GroupAgreement } from './group-agreement.js';
import type { GroupCore } from './group-core.js';
import type { GroupEnd } from './group-end.js';
import type { MemberMessage } from './wire-messages.js';

/** The closing of a group without a failure: the senders say how many messages there are, and all members confirm them. */
export class GroupClosing {
  #hasBegun = false;

  constructor(
    private readonly core: GroupCore,
    private readonly end: GroupEnd,
    private readonly agreement: GroupAgreement,
    /** A sender broke the protocol. */
    private readonly violated: (sender: number, reason: string) => void,
  ) {}

  /** Whether the application of this member has closed the group. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** The application closes the group. */
  begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    const { reception, sender, isSender, state } = this.core;
    reception.close();
    if (isSender && state === 'open') sender.queue.whenIdle(() => this.#announceTotal());
  }

  /** A member has said how many messages there are, or that it has them. */
  take(from: number, message: MemberMessage): void {
    const { barrier, reception, senders } = this.core;
    if (message.type === 'sent' && senders.includes(from)) {
      barrier.sent(from, message.messages);
      reception.closed(from, barrier.totalOf(from)!);
      this.checkStored();
    } else if (message.type === 'stored') {
      barrier.stored(from);
      this.#checkComplete();
    }
  }

  /** Confirms once that this member has all messages, and that it has relayed its part of them. */
  checkStored(): void {
    const { state, receives, barrier, reception, messenger, reports, rootId } = this.core;
    if (!receives || state !== 'open') return;
    const { complete, waiting } = reception;
    const excessive = barrier.beyond(complete);
    if (excessive !== undefined) {
      this.violated(excessive, 'it sent more messages than it said');
      return;
    }
    if (barrier.totals === undefined || !reception.hasRelayed) return;
    if (!barrier.storesNow(complete)) return;
    if (waiting > 0) {
      this.violated(rootId, 'it left out numbers of messages');
      return;
    }
    // With stable delivery, some may be held.
    if (reception.hasDelivered(barrier.totals!)) reception.inbox.end();
    // Before the confirmation: with all of those the root has all reports.
    reports?.flush();
    messenger.stored();
    this.#checkComplete();
  }

  #announceTotal(): void {
    const { state, barrier, sender, messenger, memberId, reception } = this.core;
    if (state !== 'open' || barrier.totalOf(memberId) !== undefined) return;
    const { count } = sender.queue;
    barrier.sent(memberId, count);
    messenger.sent(count);
    reception.closed(memberId, count);
    this.checkStored();
    this.#checkComplete();
  }

  #checkComplete(): void {
    if (this.core.state === 'open' && this.core.barrier.complete) void this.#complete();
  }

  async #complete(): Promise<void> {
    this.core.state = 'ending';
    await this.agreement.conclude();
    await this.end.finish(async () => undefined);
  }
}
