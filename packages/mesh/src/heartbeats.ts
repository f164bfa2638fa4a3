import { DISTANT_FACTOR } from './constants.js';
import type { Link } from './link.js';

/** The times of heartbeats, in milliseconds. They may change with the number of members. */
export interface Pace {
  readonly tickMs: number;
  /** A heartbeat is sent on a link that was idle for so many ticks. */
  readonly ticks: number;
  /** 0: no peer is declared silent. */
  readonly silenceMs: number;
}

export interface HeartbeatEvents {
  /** The times that hold now. */
  pace(): Pace;
  /** The heartbeat to send now. `isDistant`: it tells the peer so. */
  heartbeat(link: Link, isDistant: boolean): Buffer;
  /** Whether the link needs a heartbeat although other frames were sent on it for a whole interval. */
  isDue?(link: Link): boolean;
  /**
   * Whether the peer may be silent `DISTANT_FACTOR` times as long. Heartbeats are as much rarer where both ends of a link
   * say so. Default: none may.
   */
  isDistant?(link: Link): boolean;
  /** Called after each tick. */
  ticked?(): void;
  /** `silentMs`: for how long, when that was noticed. */
  silent(link: Link, silentMs: number): void;
}

/**
 * Sends heartbeats, and detects that those of a peer do not come.
 *
 * Silence is counted in ticks of this process' own loop: however late a tick comes (the process was
 * stopped, or its loop was busy), it counts for one interval, because it does not show
 * that the others are silent: their heartbeats may be unread in the sockets. And no peer is declared silent before the
 * sockets have been read once more.
 */
export class Heartbeats {
  readonly #links: ReadonlyMap<number, Link>;
  readonly #events: HeartbeatEvents;
  #pace: Pace;
  #timer: NodeJS.Timeout | undefined;
  #isRef = true;
  /** Ticks so far: links with rare heartbeats have turns among `DISTANT_FACTOR` intervals, so that not all have them at once. */
  #ticks = 0;

  constructor(links: ReadonlyMap<number, Link>, events: HeartbeatEvents) {
    this.#links = links;
    this.#events = events;
    this.#pace = events.pace();
  }

  start(): void {
    this.#timer = setInterval(() => this.#tick(), this.#pace.tickMs);
    if (!this.#isRef) this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  ref(): void {
    this.#isRef = true;
    this.#timer?.ref();
  }

  unref(): void {
    this.#isRef = false;
    this.#timer?.unref();
  }

  #tick(): void {
    const { ticks, silenceMs } = this.#pace;
    this.#ticks += 1;
    for (const link of this.#links.values()) {
      link.idleTicks += 1;
      link.heartbeatTicks += 1;
      const isDistant = this.#isDistant(link);
      const isRare = isDistant && link.peerIsDistant;
      const isDue = isRare ? this.#isRareDue(link, ticks) : this.#isDue(link, ticks);
      // Where bytes are queued already, one more frame has no effect.
      if ((isDue || link.saidDistant !== isDistant) && link.bufferedBytes === 0) {
        link.send(this.#events.heartbeat(link, isDistant));
        link.heartbeatTicks = 0;
        link.saidDistant = isDistant;
      }
      if (silenceMs > 0) this.#listen(link, isDistant);
    }
    this.#events.ticked?.();
    this.#setPace();
  }

  /**
   * A close peer that is silent stays one. Where several end together, it may be farther after each end that is noticed, and others
   * that begin to watch it would count from zero.
   */
  #isDistant(link: Link): boolean {
    return this.#events.isDistant?.(link) === true && (link.isDistant || link.heard);
  }

  #isDue(link: Link, ticks: number): boolean {
    if (link.idleTicks >= ticks) return true;
    return link.heartbeatTicks >= ticks && this.#events.isDue?.(link) === true;
  }

  #isRareDue(link: Link, ticks: number): boolean {
    return this.#isDue(link, ticks) && (this.#ticks + link.peer) % (ticks * DISTANT_FACTOR) === 0;
  }

  #setPace(): void {
    const { tickMs } = this.#pace;
    this.#pace = this.#events.pace();
    if (this.#timer === undefined || this.#pace.tickMs === tickMs) return;
    this.stop();
    this.start();
  }

  #listen(link: Link, isDistant: boolean): void {
    const { tickMs, silenceMs } = this.#pace;
    // A link that becomes a close one had no heartbeats for longer than a close one may be silent.
    const becomesClose = link.isDistant && !isDistant;
    link.isDistant = isDistant;
    if (link.heard || becomesClose) {
      link.heard = false;
      link.silentMs = 0;
      return;
    }
    link.silentMs += tickMs;
    if (link.silentMs >= (isDistant ? DISTANT_FACTOR * silenceMs : silenceMs)) this.#suspect(link);
  }

  /** Timers run before sockets are read; the second immediate comes after a full read of them. */
  #suspect(link: Link): void {
    // Another tick may come before the second immediate.
    const { silentMs } = link;
    setImmediate(() =>
      setImmediate(() => {
        const stillThere = this.#timer !== undefined && this.#links.get(link.peer) === link;
        if (stillThere && !link.heard) this.#events.silent(link, silentMs);
      }),
    );
  }
}
