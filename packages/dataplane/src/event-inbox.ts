import type { CommandQueue } from './command-queue.js';
import { EVENTS_PER_DRAIN, MAX_KIND, ReplyKind } from './constants.js';
import { ControlWord } from './control.js';
import { decodeFailure } from './records.js';
import type { RingReader } from './ring.js';
import { type EventFdSignal, signalRoom, signalSleeper } from './wake.js';

export type EventListener = (kind: number, payload: Uint8Array) => void;

interface Listeners {
  readonly set: Set<EventListener>;
  /** What came before the first listener. */
  held: { readonly kind: number; readonly payload: Uint8Array }[] | undefined;
}

/** The application's end of the event ring: settles commands and calls the listeners of events. */
export class EventInbox {
  readonly #listeners = new Map<number, Listeners>();
  #draining = false;
  #stopped = false;

  constructor(
    private readonly events: RingReader,
    private readonly words: Int32Array,
    private readonly commands: CommandQueue,
    private readonly signalWorker: EventFdSignal,
  ) {}

  /** Adds a listener; the first one gets, soon after, what came before it. Returns what removes it. */
  listen(protocol: number, listener: EventListener): () => void {
    const listeners = this.#of(protocol);
    const { held } = listeners;
    listeners.set.add(listener);
    if (held) {
      queueMicrotask(() => {
        // In order: until here everything new has gone behind what is held.
        if (listeners.held !== held) return;
        listeners.held = undefined;
        for (const { kind, payload } of held) this.#deliver(listeners, kind, payload);
      });
    }
    return () => void listeners.set.delete(listener);
  }

  /** Called by the watcher of the application's eventfd. */
  readonly wakeUp = (): void => {
    if (this.#stopped) return;
    this.commands.flush();
    if (!this.#draining) this.#drain();
  };

  /** The worker is gone: takes what it had published, and nothing afterwards. */
  finish(): void {
    if (this.#stopped) return;
    while (this.events.next()) this.#take();
    this.#stopped = true;
  }

  readonly #drain = (): void => {
    if (this.#stopped) return;
    Atomics.store(this.words, ControlWord.APPLICATION_SLEEPING, 0);
    for (let taken = 0; taken < EVENTS_PER_DRAIN; taken += 1) {
      if (!this.events.next()) {
        Atomics.store(this.words, ControlWord.APPLICATION_SLEEPING, 1);
        if (this.events.empty) {
          this.#draining = false;
          this.#announceRoom();
          return;
        }
        Atomics.store(this.words, ControlWord.APPLICATION_SLEEPING, 0);
        continue;
      }
      this.#take();
    }
    // More is there: let the application's own event loop have a turn first.
    this.#draining = true;
    this.#announceRoom();
    setImmediate(this.#drain);
  };

  #announceRoom(): void {
    const wakeWorker = (): void => signalSleeper(this.words, ControlWord.WORKER_SLEEPING, this.signalWorker);
    signalRoom(this.words, ControlWord.EVENT_ROOM_WANTED, wakeWorker);
  }

  #take(): void {
    const { tag, request, payload } = this.events;
    const kind = tag & MAX_KIND;
    if (request === 0) this.#deliver(this.#of(tag >>> 16), kind, payload);
    else if (kind === ReplyKind.DONE) this.commands.answer(request, payload);
    else this.commands.fail(request, decodeFailure(payload));
  }

  #deliver(listeners: Listeners, kind: number, payload: Uint8Array): void {
    if (listeners.held) {
      listeners.held.push({ kind, payload });
      return;
    }
    for (const listener of listeners.set) {
      try {
        listener(kind, payload);
      } catch (error) {
        // The application's own fault: an uncaught exception there, as for any event listener, and the other
        // events still arrive.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }

  #of(protocol: number): Listeners {
    let listeners = this.#listeners.get(protocol);
    if (!listeners) {
      listeners = { set: new Set(), held: [] };
      this.#listeners.set(protocol, listeners);
    }
    return listeners;
  }
}
