import type { Command } from '../commands/command.js';
import type { CommandContext, Runnable } from '../commands/command-context.js';
import type { NodeView } from '../commands/node-view.js';
import type { Session } from '../commands/session.js';
import { KvError } from '../errors.js';
import { MATCH_STEPS_PER_TURN, MAX_BATCH_BYTES, REPLY_BYTES_PER_STEP } from '../limits.js';
import type { Arguments } from '../resp/arguments.js';
import { CommandError, LEASE_EXPIRED, OUTCOME_UNKNOWN, replyOf } from '../resp/command-error.js';
import { ReplyWriter } from '../resp/writer.js';
import type { KeyEntry } from '../store/hash.js';
import { slotOfKey } from '../store/slot.js';
import type { Store } from '../store/store.js';
import { Chunk, type ChunkFacts, type Sink } from './sink.js';

/** The right to serve reads. */
export interface ReadLease {
  readonly valid: boolean;
}

/** The replies of a run so far: see `ChunkFacts`. */
type RunState = Pick<ChunkFacts, 'sequence' | 'since' | 'reads' | 'replies'>;

const NONE_WAITS: readonly number[] = [];

/**
 * Runs commands on the store, and collects their replies in runs, one after the other: a run belongs to one sink. A turn is
 * one turn of the event loop: at its end all its writes become one append, or join those of later turns, and the replies are sent
 * that do not wait for the log.
 */
export class Executor implements CommandContext {
  readonly writer = new ReplyWriter();
  /** Milliseconds since 1970 at the beginning of the turn. */
  nowMs = 0;
  /** The append that the current command's reply waits for, and whether the command has read. */
  sequence = 0;
  reads = false;
  /** Steps that the commands of this turn took, where a command can take many. */
  effort = 0;
  /** The first append that the current command's reply depends on. */
  #since = 0;
  /** Appends may be apart from others: replies that wait are each in a run of their own. */
  #isApart = false;
  #sink: Sink | undefined;
  #runSequence = 0;
  /** Undefined: as `#runSequence`. */
  #runSince: number | undefined;
  #runReads = false;
  #runReplies = 0;
  #runWaiting: number[] = [];
  /** From 1 up; replies of other servers belong to turn 0. */
  #turn = 1;
  /** A command of this turn has read. */
  #turnReads = false;
  #scheduled = false;
  readonly #touched = new Set<Sink>();
  /** Sinks with replies that wait for the log. */
  readonly #waiting = new Set<Sink>();

  constructor(
    readonly store: Store,
    private readonly lease: ReadLease,
    readonly node: NodeView,
    /** Called at the end of each turn, before replies leave. */
    private readonly onTurnEnd: () => void = () => {},
    /** Whether the turn's writes wait for those of later turns: then `schedule` is called when they do not any more. */
    private readonly isCollecting: () => boolean = () => false,
  ) {
    const { latency } = node.monitor;
    if (latency.isOn) store.onAppendWait((ms) => latency.add('append', ms));
    store.subscribe({
      acknowledged: (sequence) => this.#acknowledged(sequence),
      refused: (sequence, code, message) => this.#refused(sequence, replyOf(code, message)),
    });
  }

  /** Whether reads may be answered now. */
  get hasLease(): boolean {
    return this.lease.valid;
  }

  /** A sink's run begins. */
  begin(sink: Sink): void {
    this.#sink = sink;
    // Drops the rest of a run that was broken off.
    this.#resetRun();
    this.writer.version = sink.version;
    this.writer.begin();
    this.schedule();
  }

  /** Whether other clients should have a turn first. */
  get mustYield(): boolean {
    return this.effort >= MATCH_STEPS_PER_TURN;
  }

  /** Counts a reply as steps: one that a request of this server makes, or that is not sent. The bound of a client's output counts others. */
  spendOnReply(bytes: number): void {
    this.effort += bytes / REPLY_BYTES_PER_STEP;
  }

  /** Removes the bytes of the run beyond a length. They count as effort all the same. */
  takeBack(length: number): void {
    this.spendOnReply(this.writer.length - length);
    this.writer.truncate(length);
  }

  /** Whether the turn has so many writes that the log should get them now. */
  get isFull(): boolean {
    return this.store.batchBytes >= MAX_BATCH_BYTES;
  }

  /**
   * Runs a command of the run's sink; its reply is in the writer behind `length`. Where the command is in a later append than
   * the run, the run ends before it: the log may accept one append and refuse the other. A caller that puts replies into
   * frames does that itself, with `splitRun`.
   */
  run(command: Command, args: Arguments, session: Session, isFramed = false): void {
    const { writer } = this;
    let before = writer.length;
    writer.version = this.#sink!.version;
    this.sequence = 0;
    this.reads = false;
    this.#attemptApart(command, args, session);
    if (!isFramed && this.mustSplit(this.#runSequence)) {
      this.endRun(before);
      before = 0;
    }
    if (this.#isApart && this.#runReplies === 0) this.#runSince = this.#since;
    this.#runReplies += 1;
    if (this.sequence > this.store.acknowledged) this.#runWaiting.push(before, writer.length);
    if (this.sequence > this.#runSequence) this.#runSequence = this.sequence;
    if (this.reads) this.#runReads = true;
  }

  /** Adds an error reply without a command. */
  fail(error: string): void {
    this.writer.error(error);
    this.#runReplies += 1;
  }

  /** Adds a status reply without a command. */
  say(text: string): void {
    this.writer.simple(text);
    this.#runReplies += 1;
  }

  /**
   * Whether the command that was run must not be in a run with replies that wait for that append: it is in a later one than this
   * write of the turn, or one of them may be refused and the other not.
   */
  mustSplit(sequence: number): boolean {
    if (this.sequence > sequence && sequence >= this.store.firstSequence) return true;
    return this.#isApart && this.sequence > this.store.acknowledged;
  }

  #attemptApart(command: Command, args: Arguments, session: Session): void {
    const { separation } = this.store;
    this.#isApart = separation.isOn;
    if (this.#isApart) separation.begin(keysOf(command, args));
    this.attempt(command, args, session);
    if (this.#isApart) this.#since = separation.end(this.sequence);
  }

  /** Gives the run's replies, or the first bytes of them, to the sink. The next replies are another run of the same sink. */
  endRun(length = this.writer.length): void {
    const sink = this.#sink!;
    if (length > 0) {
      if (this.#runReads) this.#turnReads = true;
      const waiting = this.#runWaiting.length > 0 ? this.#runWaiting : NONE_WAITS;
      // Without a spread: one here took 6% of a server's time under many SETs.
      const [sequence, replies, reads] = [this.#runSequence, this.#runReplies, this.#runReads];
      const facts = { sequence, since: this.#runSince, replies, reads, turn: this.#turn, waiting };
      sink.take(new Chunk(this.writer.end(length), facts));
      this.#touched.add(sink);
    }
    this.#resetRun();
  }

  #resetRun(): void {
    this.#runSequence = 0;
    this.#runSince = undefined;
    this.#runReads = false;
    this.#runReplies = 0;
    if (this.#runWaiting.length > 0) this.#runWaiting = [];
  }

  /** Ends the run before the last command, so that the replies before it are sent apart from its own. */
  splitRun(length: number, before: RunState): void {
    if (length > 0) {
      const bytes = this.writer.end(length);
      if (before.reads) this.#turnReads = true;
      this.#sink!.take(new Chunk(bytes, { ...before, turn: this.#turn }));
      this.#touched.add(this.#sink!);
    }
    this.#runSequence = this.sequence;
    this.#runSince = this.#isApart ? this.#since : undefined;
    this.#runReads = this.reads;
    this.#runReplies = 1;
  }

  get runState(): RunState {
    return {
      sequence: this.#runSequence,
      since: this.#runSince,
      reads: this.#runReads,
      replies: this.#runReplies,
    };
  }

  /** A sink has an answer to send. */
  touch(sink: Sink): void {
    this.#touched.add(sink);
    this.schedule();
  }

  forget(sink: Sink): void {
    this.#touched.delete(sink);
    this.#waiting.delete(sink);
  }

  schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.nowMs = Date.now();
    this.store.beginTurn();
    setImmediate(() => this.end());
  }

  /** Ends the turn: no run may be open. */
  end(): void {
    this.#scheduled = false;
    this.effort = 0;
    const own = this.store.firstSequence;
    if (this.isFull || !this.isCollecting()) this.store.commit();
    // The lease is checked after all reads and before any reply is sent; the check takes some microseconds.
    if (this.#turnReads && !this.lease.valid) {
      const turn = this.#turn;
      // The acknowledgement of a write that was not sent before proves that no other server owned the keys at the reads.
      const isDoubtful = (chunk: Chunk): boolean =>
        chunk.turn === turn && chunk.reads && chunk.sequence < own;
      this.#refuse(this.#touched, isDoubtful, LEASE_EXPIRED, true);
    }
    this.#turn += 1;
    this.#turnReads = false;
    this.onTurnEnd();
    const { acknowledged } = this.store;
    const sinks = [...this.#touched];
    this.#touched.clear();
    for (const sink of sinks) if (sink.flush(acknowledged, this.#turn)) this.#waiting.add(sink);
  }

  /** The log has ended: the commands that wait for it have an unknown outcome. */
  logEnded(): void {
    const { acknowledged } = this.store;
    this.#refuseWaiting((chunk) => chunk.sequence > acknowledged, OUTCOME_UNKNOWN);
    for (const sink of this.#waiting) sink.flush(acknowledged, this.#turn);
  }

  // The methods that commands use.

  attempt(command: Runnable, args: Arguments, session: Session): void {
    const { writer } = this;
    const { monitor } = this.node;
    const before = writer.length;
    const isTimed = command.isBrief ? monitor.timesBrief : monitor.timesOthers;
    const started = isTimed ? performance.now() : 0;
    try {
      command.run(this, args, session);
    } catch (error) {
      this.takeBack(before);
      writer.error(replyToThrown(error));
    }
    if (isTimed) monitor.ran(command, args, session, performance.now() - started);
  }

  slot(args: Arguments, index: number): number {
    return slotOfKey(args, index);
  }

  /** The entry of a key; the reply waits until the log has acknowledged it. */
  find(args: Arguments, index: number): KeyEntry | undefined {
    return this.look(this.slot(args, index), args.string(index));
  }

  look(slot: number, key: string): KeyEntry | undefined {
    return this.#read(this.store.find(slot, key, this.nowMs));
  }

  peek(slot: number, key: string): KeyEntry | undefined {
    return this.#read(this.store.peek(slot, key, this.nowMs));
  }

  #read(entry: KeyEntry | undefined): KeyEntry | undefined {
    this.reads = true;
    if (!entry) return undefined;
    if (entry.sequence > this.sequence) this.sequence = entry.sequence;
    return entry.value === undefined ? undefined : entry;
  }

  sizeOf(slot: number): number {
    const { keyspace } = this.store;
    this.reads = true;
    this.waitFor(keyspace.sizedBy(slot));
    return keyspace.sizeOf(slot);
  }

  put(slot: number, key: string, value: string, expiresAt: number): void {
    this.sequence = this.store.put(slot, key, value, expiresAt).sequence;
  }

  remove(slot: number, key: string): void {
    this.sequence = this.store.remove(slot, key).sequence;
  }

  retime(slot: number, key: string, entry: KeyEntry, expiresAt: number): void {
    this.sequence = this.store.retime(slot, key, entry.value!, expiresAt).sequence;
  }

  waitFor(sequence: number): void {
    if (sequence > this.sequence) this.sequence = sequence;
    this.store.separation.reads(sequence);
  }

  /** Replies of this turn's reads stay: the lease is checked when the turn ends. */
  #acknowledged(sequence: number): void {
    for (const sink of this.#waiting) {
      if (!sink.flush(sequence, this.#turn)) this.#waiting.delete(sink);
    }
  }

  #refused(sequence: number, error: string): void {
    this.#refuseWaiting((chunk) => chunk.dependsOn(sequence), error);
    for (const sink of this.#waiting) this.touch(sink);
  }

  /** Without the acknowledgement, the other reads of such chunks are not proved either. */
  #refuseWaiting(which: (chunk: Chunk) => boolean, error: string): void {
    const { valid } = this.lease;
    for (const sinks of [this.#waiting, this.#touched]) {
      if (!valid) this.#refuse(sinks, (chunk) => which(chunk) && chunk.reads, error, true);
      this.#refuse(sinks, which, error, false);
    }
  }

  #refuse(sinks: Iterable<Sink>, which: (chunk: Chunk) => boolean, error: string, all: boolean): void {
    for (const sink of sinks) sink.refuse(which, error, all);
  }
}

/** How many keys the command may look at; a transaction counts as one key, whose writes are in one append. */
function keysOf({ route }: Command, args: Arguments): 'one' | 'some' | 'all' {
  if (route === 'key' || (route === 'keys' && args.count === 2)) return 'one';
  return route === 'keys' ? 'some' : 'all';
}

/** The error reply of a command that failed. @throws errors that commands must not throw */
function replyToThrown(error: unknown): string {
  if (error instanceof CommandError) return error.message;
  if (error instanceof KvError) return replyOf(error.code, error.message);
  throw error;
}
