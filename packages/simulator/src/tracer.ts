import { createSchedule } from '@rdmc/schedule';
import { MessageTrace, type TraceRecord, type WaitedFor } from './trace.js';

/** The group of a traced member. */
export interface TracedGroup {
  readonly number: number;
  readonly schedule: Parameters<typeof createSchedule>[0];
  /** The node of each rank. */
  readonly members: readonly number[];
  readonly messages: number;
}

/** A condition of a send, and when it became true. */
interface Condition {
  readonly what: WaitedFor;
  readonly node: number | null;
  readonly at: number;
}

const NOTHING: Condition = { what: 'call', node: null, at: 0 };
/** More than the blocks of a message. */
const MESSAGE = 2 ** 32;

/**
 * Records the steps of one member. A machine writes its sends and its receives strictly in the order of the schedule,
 * message after message, so their order says to which step they belong.
 */
export class Tracer {
  readonly #messages: MessageTrace[] = [];
  #sending = 0;
  #receiving = 0;
  readonly #calls: Condition[] = [];
  readonly #blocks = new Map<number, Condition>();
  /** For each neighbour the times at which this member knew of a further receive. */
  readonly #ready: number[][];
  readonly #announced: number[];
  #slot = NOTHING;

  constructor(
    private readonly group: TracedGroup,
    private readonly rank: number,
    neighbours: number,
  ) {
    this.#ready = Array.from({ length: neighbours }, () => []);
    this.#announced = Array.from({ length: neighbours }, () => 0);
  }

  /** At the root: the next message was given to the thread. */
  called(now: number): void {
    this.#calls.push({ what: 'call', node: null, at: now });
  }

  announced(pair: number, count: number, now: number): void {
    for (; this.#announced[pair]! < count; this.#announced[pair]! += 1) this.#ready[pair]!.push(now);
  }

  /** An earlier send to `node` has completed, and its slot is free. */
  slotFreed(node: number, now: number): void {
    this.#slot = { what: 'send', node, at: now };
  }

  /** The thread took the completion of a receive. */
  arrived({ message, receiveBlock, receiveFrom }: TraceRecord, now: number): void {
    this.#blocks.set(message * MESSAGE + receiveBlock!, { what: 'block', node: receiveFrom, at: now });
  }

  /** The record of the next send, to the neighbour `pair`. */
  send(pair: number): TraceRecord {
    let record = this.#message(this.#sending).nextSend();
    while (record === undefined) {
      this.#sending += 1;
      record = this.#message(this.#sending).nextSend();
    }
    const ready = this.#ready[pair]!.shift() ?? 0;
    record.ready = ready;
    const block = this.#blocks.get(record.message * MESSAGE + record.sendBlock!);
    const call = this.#calls[record.message] ?? NOTHING;
    const target: Condition = { what: 'ready', node: record.sendTo, at: ready };
    const last = [call, this.#slot, target, block ?? NOTHING].reduce((a, b) => (b.at > a.at ? b : a));
    record.waitedFor = last.what;
    record.waitedForNode = last.node;
    return record;
  }

  /** The record of the next receive. */
  receive(): TraceRecord {
    let record = this.#message(this.#receiving).nextReceive();
    while (record === undefined) {
      this.#receiving += 1;
      record = this.#message(this.#receiving).nextReceive();
    }
    return record;
  }

  /** The records of the messages that were sent: the first receive after the last message is not one of them. */
  get records(): TraceRecord[] {
    return this.#messages.slice(0, this.group.messages).flatMap(({ records }) => records);
  }

  #message(number: number): MessageTrace {
    for (let message = this.#messages.length; message <= number; message += 1) {
      const { number: group, schedule, members } = this.group;
      const subject = { group, message, node: members[this.rank]! };
      this.#messages.push(new MessageTrace(createSchedule(schedule), this.rank, members, subject));
    }
    return this.#messages[number]!;
  }
}
