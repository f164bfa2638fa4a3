import type { Schedule, Transfer } from '@rdmc/schedule';

/** The condition of a send that came last: the block, the target's receive, an earlier send, or the call of `send`. */
export type WaitedFor = 'block' | 'ready' | 'send' | 'call';

/** What one member did in one step of one message. Times are microseconds; `null`: not in this step. */
export interface TraceRecord {
  /** The group, from 0: the node of its root. */
  readonly group: number;
  /** The message of the group, from 0. */
  readonly message: number;
  /** The node of the member. */
  readonly node: number;
  /** The step of the schedule, from 0. */
  readonly step: number;
  /** The target of the send. */
  sendTo: number | null;
  /** The block of the send. */
  sendBlock: number | null;
  /** The member knew that the target has a receive. */
  ready: number | null;
  /** The request was given to the NIC. */
  posted: number | null;
  /** The first byte left. */
  started: number | null;
  /** The last byte left. */
  finished: number | null;
  /** The last condition. */
  waitedFor: WaitedFor | null;
  /** The node that the last condition was about; null for 'call'. */
  waitedForNode: number | null;
  /** The sender of the receive. */
  receiveFrom: number | null;
  /** The block of the receive. */
  receiveBlock: number | null;
  /** The receive was posted. */
  receivePosted: number | null;
  /** The block was in memory. */
  received: number | null;
}

/** The member and message that records are about. */
export interface TraceSubject {
  readonly group: number;
  readonly message: number;
  readonly node: number;
}

/** The records of one member for one message, taken in the order of its sends and of its receives. */
export class MessageTrace {
  readonly #records = new Map<number, TraceRecord>();
  readonly #sends: Iterator<Transfer, void>;
  readonly #receives: Iterator<Transfer, void>;

  constructor(
    schedule: Schedule,
    rank: number,
    /** The node of each rank. */
    private readonly members: readonly number[],
    private readonly subject: TraceSubject,
  ) {
    this.#sends = schedule.sends(rank);
    this.#receives = schedule.receives(rank);
  }

  /** The record of the next send; `undefined` after the last one. */
  nextSend(): TraceRecord | undefined {
    const { done, value } = this.#sends.next();
    if (done) return undefined;
    const record = this.#at(value.step);
    record.sendTo = this.members[value.to]!;
    record.sendBlock = value.block;
    return record;
  }

  /** The record of the next receive; `undefined` after the last one. */
  nextReceive(): TraceRecord | undefined {
    const { done, value } = this.#receives.next();
    if (done) return undefined;
    const record = this.#at(value.step);
    record.receiveFrom = this.members[value.from]!;
    record.receiveBlock = value.block;
    return record;
  }

  /** All records, in step order. */
  get records(): TraceRecord[] {
    return [...this.#records.values()].sort((a, b) => a.step - b.step);
  }

  #at(step: number): TraceRecord {
    let record = this.#records.get(step);
    if (record === undefined) {
      record = emptyRecord(this.subject, step);
      this.#records.set(step, record);
    }
    return record;
  }
}

function emptyRecord(subject: TraceSubject, step: number): TraceRecord {
  return {
    ...subject,
    step,
    sendTo: null,
    sendBlock: null,
    ready: null,
    posted: null,
    started: null,
    finished: null,
    waitedFor: null,
    waitedForNode: null,
    receiveFrom: null,
    receiveBlock: null,
    receivePosted: null,
    received: null,
  };
}
