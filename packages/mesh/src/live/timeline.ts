import type { Claim } from './claim.js';
import type { MemberEvent } from './member-event.js';

/** One connection with a peer. */
export interface Epoch extends Claim {
  readonly epoch: number;
}

/** Why a connection ended, for people and for programs. */
export interface Cause {
  readonly code: string;
  readonly reason: string;
}

/**
 * The connections with one peer, one at a time. It decides which attempt may become the next one, and makes the events in an
 * order in which no two connections interleave.
 */
export class Timeline {
  /** The connection in use. */
  protected inUse: Epoch | undefined;
  /** The last connection, also after its end. */
  protected latest: Epoch | undefined;
  /** The last epoch that this member gave to an attempt of its own. */
  protected issued = 0;

  constructor(readonly member: number) {}

  get current(): Epoch | undefined {
    return this.inUse;
  }

  /** For an attempt to connect. Each attempt has a higher one, so that a late one cannot replace its successor. */
  nextEpoch(): number {
    this.issued = Math.max(this.issued, this.latest?.epoch ?? 0) + 1;
    return this.issued;
  }

  /** Whether the connection is later than the last one with the same process. A new process counts from the beginning. */
  admits({ instance, epoch }: Epoch): boolean {
    return this.latest === undefined || this.latest.instance !== instance || epoch > this.latest.epoch;
  }

  isCurrent({ instance, epoch }: Epoch): boolean {
    return this.inUse?.instance === instance && this.inUse.epoch === epoch;
  }

  /** The event of the end of the connection in use; undefined: there is none. */
  lost({ code, reason }: Cause): MemberEvent | undefined {
    const head = this.ended();
    return head && { type: 'lost', ...head, code, reason };
  }

  left(): MemberEvent | undefined {
    const head = this.ended();
    return head && { type: 'left', ...head };
  }

  /** The connection is in use. The one before it has been ended. */
  joined(next: Epoch): MemberEvent {
    if (this.inUse !== undefined) throw new Error(`the connection with member ${this.member} has not ended`);
    this.inUse = next;
    this.latest = next;
    return { type: 'joined', ...this.head(next) };
  }

  protected ended() {
    const ended = this.inUse;
    this.inUse = undefined;
    return ended && this.head(ended);
  }

  protected head({ incarnation, epoch }: Epoch) {
    return { member: this.member, incarnation, epoch };
  }
}
