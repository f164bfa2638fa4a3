import type { LocalKey } from '@rdmc/verbs';
import type { ChannelSetup, TargetSetup } from '../records.js';
import type { LogTrace } from './log-trace.js';

/** Takes the writes of a channel for one target. `Target` reports their completions, in order. */
export interface TargetWriter {
  /** Writes `byteLength` bytes at `offset` of the segment `from` to the same offset of the target's replica. */
  write(target: Target, sequence: number, from: LocalMemory, offset: number, byteLength: number): void;
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

/** One replica of a channel's segment. */
export class Target {
  /** The highest sequence number that is complete there. */
  completed = 0;
  lost = false;
  /** The target has caught up once this sequence number is complete. */
  readonly joinedAt: number;

  constructor(
    readonly setup: TargetSetup,
    private readonly channel: Channel,
    joinedAt: number,
  ) {
    this.joinedAt = joinedAt;
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
 */
export class Channel {
  readonly targets: Target[];
  #posted = 0;
  #postedBytes = 0;
  #acknowledged = 0;
  #held = false;

  constructor(
    readonly setup: ChannelSetup,
    private readonly writerOf: (pair: number) => TargetWriter | undefined,
    private readonly events: ChannelEvents,
    private readonly trace?: LogTrace,
  ) {
    this.targets = setup.targets.map((target) => new Target(target, this, 0));
    for (const target of this.targets) {
      if (!writerOf(target.setup.pair)) target.fail('its queue pair is gone');
    }
  }

  append(sequence: number, offset: number, byteLength: number): void {
    this.#posted = sequence;
    this.#postedBytes = offset + byteLength;
    this.trace?.appended(sequence);
    for (const target of this.targets) this.#write(target, sequence, offset, byteLength);
    this.trace?.waits(this.#posted, this.targets);
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

  resume(): void {
    this.#held = this.targets.some((target) => target.lost);
    this.#acknowledge();
  }

  /** The segment is closed, or the log has ended. */
  end(): void {
    this.trace?.waits(0, []);
  }

  targetCompleted(target: Target): void {
    this.trace?.completed(target.completed, target.setup.member);
    this.trace?.waits(this.#posted, this.targets);
    if (target.joinedAt > 0 && target.completed === target.joinedAt) {
      this.events.caughtUp(this.setup.channel, target.setup.target);
    }
    this.#acknowledge();
  }

  targetLost(target: Target, reason: string): void {
    this.#held = true;
    this.events.lost(this.setup.channel, target.setup.target, reason);
  }

  #write(target: Target, sequence: number, offset: number, byteLength: number): void {
    if (target.lost) return;
    const writer = this.writerOf(target.setup.pair);
    this.trace?.written(sequence, target.setup.member);
    if (writer) {
      writer.write(target, sequence, this.setup, offset, byteLength);
    } else {
      target.fail('its queue pair is gone');
    }
  }

  #acknowledge(): void {
    if (this.#held) return;
    let least = this.#posted;
    for (const { completed } of this.targets) least = Math.min(least, completed);
    if (least <= this.#acknowledged) return;
    this.#acknowledged = least;
    this.trace?.acknowledged(least);
    this.events.acknowledged(this.setup.channel, least);
  }
}
