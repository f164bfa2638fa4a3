import type { GroupAgreement } from './group-agreement.js';
import type { GroupCore } from './group-core.js';
import type { GroupEnd } from './group-end.js';
import type { MemberMessage } from './wire-messages.js';

/** The closing of a group without a failure: the root says how many messages there are, and all members confirm them. */
export class GroupClosing {
  #hasBegun = false;

  constructor(
    private readonly core: GroupCore,
    private readonly end: GroupEnd,
    private readonly agreement: GroupAgreement,
    /** The root broke the protocol. */
    private readonly violated: (reason: string) => void,
  ) {}

  /** Whether the application of this member has closed the group. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** The application closes the group. */
  begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    const { reception, sender, isRoot, state } = this.core;
    reception.liftLimits();
    reception.drain();
    if (isRoot && state === 'open') sender.queue.whenIdle(() => this.#announceTotal());
  }

  /** A member has said how many messages there are, or that it has them. */
  take(from: number, message: MemberMessage): void {
    const { barrier, reception, rootId } = this.core;
    if (message.type === 'sent' && from === rootId) {
      barrier.sent(message.messages);
      reception.drain();
      this.checkStored();
    } else if (message.type === 'stored') {
      barrier.stored(from);
      this.#checkComplete();
    }
  }

  /** Confirms once that this member has all messages, and that it has relayed its part of them. */
  checkStored(): void {
    const { state, isRoot, barrier, reception, messenger } = this.core;
    if (isRoot || state !== 'open') return;
    const { complete, waiting } = reception;
    if (barrier.isBeyond(complete)) {
      this.violated('it sent more messages than it said');
      return;
    }
    if (!barrier.storesNow(complete)) return;
    if (waiting > 0) {
      this.violated('it left out numbers of messages');
      return;
    }
    // With stable delivery, some may be held.
    if (reception.delivered === barrier.total) reception.inbox.end();
    messenger.stored();
    this.#checkComplete();
  }

  #announceTotal(): void {
    const { state, barrier, sender, messenger } = this.core;
    if (state !== 'open' || barrier.ownPartDone) return;
    const { count } = sender.queue;
    barrier.sent(count);
    messenger.sent(count);
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
