import type { LocalKey } from '@rdmc/verbs';
import { JOIN_STEP_BYTES } from '../constants.js';
import type { ChannelSetup, TargetSetup } from '../records.js';
import type { LogTrace } from './log-trace.js';

/** Learns of the completions of its writes, in order. */
export interface Written {
  readonly setup: TargetSetup;
  complete(sequence: number): void;
  fail(reason: string): void;
}

/** Takes the writes of a channel for one target. */
export interface TargetWriter {
  /**
   * Writes `byteLength` bytes at `offset` of the segment `from` to the same offset of the target's replica.
   * @param sequence above 0
   */
  write(target: Written, sequence: number, from: LocalMemory, offset: number, byteLength: number): void;
}

/** A registered segment of this process. */
export interface LocalMemory {
  readonly address: number;
  readonly lkey: LocalKey;
}

/** Events from a channel to the application. */
export interface ChannelEvents {
  acknowledged(channel: number, sequence: number): void;
  lost(channel: number, target: number, reason: string): void;
  caughtUp(channel: number, target: number): void;
}

const GONE = 'its queue pair is gone';
/** What a target gets is copied to it in steps: appends do not go to it yet. */
const COPYING = Number.POSITIVE_INFINITY;

/** One replica of a channel's segment. */
export class Target implements Written {
  /** The highest sequence number that is complete there. */
  completed = 0;
  lost = false;
  /** Whether acknowledgements wait for it. */
  counts: boolean;
  /** Whether it has had everything that was acknowledged. */
  hasCaughtUp: boolean;

  /** @param joinedAt it gets the appends up to this sequence number as a copy, and those after it one by one */
  constructor(
    readonly setup: TargetSetup,
    private readonly channel: Channel,
    public joinedAt: number,
  ) {
    this.counts = joinedAt !== COPYING;
    this.hasCaughtUp = joinedAt === 0;
  }

  complete(sequence: number): void {
    if (this.lost) return;
    this.completed = sequence;
    this.channel.targetCompleted(this);
  }

  fail(reason: string): void {
    if (this.lost) return;
    this.lost = true;
    this.channel.targetLost(this, reason);
  }
}

/**
 * An open segment at its primary: every append goes to all targets, in order, without waiting for earlier ones
 * (Tailwind waits; section 5.4 names this as the better way). It is acknowledged when all targets have it. After the
 * loss of a target nothing is acknowledged until the application has replaced it and calls `resume`.
 *
 * A target that joins gets a copy of the segment in steps. Appends do not wait for it meanwhile, and its loss holds up nothing.
 * When the copy is complete it is a target as the others.
 */
export class Channel {
  readonly targets: Target[];
  #posted = 0;
  #postedBytes = 0;
  #acknowledged = 0;
  #held = false;
  #isEnded = false;

  constructor(
    readonly setup: ChannelSetup,
    private readonly writerOf: (pair: number) => TargetWriter | undefined,
    private readonly events: ChannelEvents,
    private readonly trace?: LogTrace,
  ) {
    this.targets = setup.targets.map((target) => new Target(target, this, 0));
    for (const target of this.targets) {
      if (!writerOf(target.setup.pair)) target.fail(GONE);
    }
  }

  append(sequence: number, offset: number, byteLength: number): void {
    this.#posted = sequence;
    this.#postedBytes = offset + byteLength;
    this.trace?.appended(sequence);
    // A copy: a target that is lost meanwhile may leave the list.
    for (const target of [...this.targets]) {
      if (target.joinedAt !== COPYING) this.#write(target, sequence, offset, byteLength);
    }
    this.trace?.waits(this.#posted, this.#counting);
  }

  /** Replaces a lost target by a new one, which gets everything from the beginning. */
  replace(lost: number, setup: TargetSetup): void {
    const index = this.targets.findIndex((target) => target.setup.target === lost);
    if (index < 0) return;
    const target = new Target(setup, this, this.#posted);
    this.targets[index] = target;
    if (this.#postedBytes > 0) this.#write(target, this.#posted, 0, this.#postedBytes);
    else this.events.caughtUp(this.setup.channel, setup.target);
  }

  /** Adds a target. It has caught up when it has everything that was acknowledged. */
  join(setup: TargetSetup): void {
    const target = new Target(setup, this, COPYING);
    this.targets.push(target);
    this.#copy(target, 0);
  }

  /** The target has, or had, a replica that does not count any more. */
  remove(number: number): void {
    const index = this.targets.findIndex((target) => target.setup.target === number);
    if (index < 0) return;
    this.targets[index]!.lost = true;
    this.targets.splice(index, 1);
    this.#acknowledge();
  }

  resume(): void {
    this.#held = this.targets.some((target) => target.lost);
    this.#acknowledge();
  }

  /** The segment is closed, or the log has ended. */
  end(): void {
    this.#isEnded = true;
    this.trace?.waits(0, []);
  }

  targetCompleted(target: Target): void {
    this.trace?.completed(target.completed, target.setup.member);
    if (target.completed >= target.joinedAt) target.counts = true;
    this.trace?.waits(this.#posted, this.#counting);
    // A target that joined may lack appends that were acknowledged during the last step of its copy.
    if (!target.hasCaughtUp && target.counts && target.completed >= this.#acknowledged) {
      target.hasCaughtUp = true;
      this.events.caughtUp(this.setup.channel, target.setup.target);
    }
    this.#acknowledge();
  }

  targetLost(target: Target, reason: string): void {
    if (target.counts) this.#held = true;
    else this.targets.splice(this.targets.indexOf(target), 1);
    this.events.lost(this.setup.channel, target.setup.target, reason);
  }

  get #counting(): readonly Target[] {
    return this.targets.filter(({ counts }) => counts);
  }

  /** Copies the next step from there on. The last one is followed by the appends that come after it. */
  #copy(target: Target, from: number): void {
    if (target.lost || this.#isEnded) return;
    const left = this.#postedBytes - from;
    if (left <= JOIN_STEP_BYTES) {
      target.joinedAt = this.#posted;
      if (left > 0) this.#write(target, this.#posted, from, left);
      else target.complete(this.#posted);
      return;
    }
    const step: Written = {
      setup: target.setup,
      complete: () => this.#copy(target, from + JOIN_STEP_BYTES),
      fail: (reason) => target.fail(reason),
    };
    const writer = this.writerOf(target.setup.pair);
    if (writer) writer.write(step, 1, this.setup, from, JOIN_STEP_BYTES);
    else target.fail(GONE);
  }

  #write(target: Target, sequence: number, offset: number, byteLength: number): void {
    if (target.lost) return;
    const writer = this.writerOf(target.setup.pair);
    this.trace?.written(sequence, target.setup.member);
    if (writer) {
      writer.write(target, sequence, this.setup, offset, byteLength);
    } else {
      target.fail(GONE);
    }
  }

  #acknowledge(): void {
    if (this.#held) return;
    let least = this.#posted;
    for (const { completed, counts } of this.targets) if (counts) least = Math.min(least, completed);
    if (least <= this.#acknowledged) return;
    this.#acknowledged = least;
    this.trace?.acknowledged(least);
    this.events.acknowledged(this.setup.channel, least);
  }
}
