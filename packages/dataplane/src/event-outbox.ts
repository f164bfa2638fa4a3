import { ControlWord } from './control.js';
import type { RingWriter } from './ring.js';
import type { EventFdSignal } from './wake.js';
import { signalSleeper } from './wake.js';

interface Unsent {
  readonly tag: number;
  readonly request: number;
  readonly payload: Uint8Array | undefined;
}

/**
 * The worker's end of the event ring, and a backlog of the records that did not fit.
 * While there is a backlog the loop takes neither commands nor completions, so the backlog holds at most
 * the records that the handlers of one turn emitted, and no record is dropped.
 */
export class EventOutbox {
  #backlog: Unsent[] = [];
  #unannounced = false;

  constructor(
    private readonly writer: RingWriter,
    private readonly words: Int32Array,
    private readonly signalApplication: EventFdSignal,
  ) {}

  /** Whether records wait for room: the loop must stop taking work. */
  get blocked(): boolean {
    return this.#backlog.length > 0;
  }

  get maxPayload(): number {
    return this.writer.maxPayload;
  }

  /** Sends or queues a record; the payload is copied. Returns false when it was queued. */
  send(tag: number, request: number, payload: Uint8Array | undefined): boolean {
    if (this.#backlog.length === 0 && this.writer.tryWrite(tag, request, payload)) {
      this.#unannounced = true;
      return true;
    }
    if (payload) this.writer.check(payload);
    this.#backlog.push({ tag, request, payload: payload?.slice() });
    return false;
  }

  /** Moves the backlog into the ring as far as it fits; true if it is empty then. */
  flush(): boolean {
    if (this.#backlog.length === 0) return true;
    let sent = 0;
    for (const record of this.#backlog) {
      if (!this.writer.tryWrite(record.tag, record.request, record.payload)) break;
      sent += 1;
    }
    if (sent > 0) {
      this.#backlog.splice(0, sent);
      this.#unannounced = true;
    }
    return this.#backlog.length === 0;
  }

  /** Wakes the application if it sleeps and there are new records. */
  announce(): void {
    if (!this.#unannounced) return;
    this.#unannounced = false;
    signalSleeper(this.words, ControlWord.APPLICATION_SLEEPING, this.signalApplication);
  }

  /** Asks for a signal once the application has drained the ring. Flush once more afterwards. */
  wantRoom(): void {
    Atomics.store(this.words, ControlWord.EVENT_ROOM_WANTED, 1);
  }

  /** Whether the application has drained the ring since `wantRoom`. */
  get roomMade(): boolean {
    return Atomics.load(this.words, ControlWord.EVENT_ROOM_WANTED) === 0;
  }
}
