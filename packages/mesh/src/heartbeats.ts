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
  /** The heartbeat to send now. */
  heartbeat(link: Link): Buffer;
  /** Whether the link needs a heartbeat although other frames were sent on it for a whole interval. */
  isDue?(link: Link): boolean;
  /** Called after each tick. */
  ticked?(): void;
  silent(link: Link): void;
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
    for (const link of this.#links.values()) {
      link.idleTicks += 1;
      link.heartbeatTicks += 1;
      // Where bytes are queued already, one more frame has no effect.
      if (this.#isDue(link, ticks) && link.bufferedBytes === 0) {
        link.send(this.#events.heartbeat(link));
        link.heartbeatTicks = 0;
      }
      if (silenceMs > 0) this.#listen(link);
    }
    this.#events.ticked?.();
    this.#setPace();
  }

  #isDue(link: Link, ticks: number): boolean {
    if (link.idleTicks >= ticks) return true;
    return link.heartbeatTicks >= ticks && this.#events.isDue?.(link) === true;
  }

  #setPace(): void {
    const { tickMs } = this.#pace;
    this.#pace = this.#events.pace();
    if (this.#timer === undefined || this.#pace.tickMs === tickMs) return;
    this.stop();
    this.start();
  }

  #listen(link: Link): void {
    if (link.heard) {
      link.heard = false;
      link.silentMs = 0;
      return;
    }
    link.silentMs += this.#pace.tickMs;
    if (link.silentMs >= this.#pace.silenceMs) this.#suspect(link);
  }

  /** Timers run before sockets are read; the second immediate comes after a full read of them. */
  #suspect(link: Link): void {
    setImmediate(() =>
      setImmediate(() => {
        const stillThere = this.#timer !== undefined && this.#links.get(link.peer) === link;
        if (stillThere && !link.heard) this.#events.silent(link);
      }),
    );
  }
}
