import { encodeFrame, FrameType } from './frames.js';
import type { Link } from './link.js';

const HEARTBEAT = encodeFrame(FrameType.HEARTBEAT);

/**
 * Sends heartbeats, and detects that those of a peer do not come.
 *
 * Silence is counted in ticks of this process' own loop: however late a tick comes (the process was
 * stopped, or its loop was busy), it counts for one interval, because it does not show
 * that the others are silent: their heartbeats may be unread in the sockets. And no peer is declared silent before the
 * sockets have been read once more.
 */
export class Heartbeats {
  readonly #intervalMs: number;
  readonly #silenceMs: number;
  readonly #links: ReadonlyMap<number, Link>;
  readonly #silent: (link: Link) => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    intervalMs: number,
    silenceMs: number,
    links: ReadonlyMap<number, Link>,
    silent: (link: Link) => void,
  ) {
    this.#intervalMs = intervalMs;
    this.#silenceMs = silenceMs;
    this.#links = links;
    this.#silent = silent;
  }

  start(): void {
    this.#timer = setInterval(() => this.#tick(), this.#intervalMs);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  ref(): void {
    this.#timer?.ref();
  }

  unref(): void {
    this.#timer?.unref();
  }

  #tick(): void {
    for (const link of this.#links.values()) {
      // Where bytes are queued already, one more frame has no effect.
      if (link.bufferedBytes === 0) link.send(HEARTBEAT);
      if (this.#silenceMs > 0) this.#listen(link);
    }
  }

  #listen(link: Link): void {
    if (link.heard) {
      link.heard = false;
      link.silentMs = 0;
      return;
    }
    link.silentMs += this.#intervalMs;
    if (link.silentMs >= this.#silenceMs) this.#suspect(link);
  }

  /** Timers run before sockets are read; the second immediate comes after a full read of them. */
  #suspect(link: Link): void {
    setImmediate(() =>
      setImmediate(() => {
        const stillThere = this.#timer !== undefined && this.#links.get(link.peer) === link;
        if (stillThere && !link.heard) this.#silent(link);
      }),
    );
  }
}
