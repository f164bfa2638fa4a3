import type { CommandQueue } from './command-queue.js';
import { EVENTS_PER_DRAIN, MAX_KIND, ReplyKind } from './constants.js';
import { ControlWord } from './control.js';
import { KeptRecord, type RecordView } from './record-codec.js';
import { decodeFailure, protocolError } from './records.js';
import type { RingReader } from './ring.js';
import { type EventFdSignal, signalRoom, signalSleeper } from './wake.js';

/** Handles the events of one protocol. The record is valid during the call only. */
export type EventSink = (kind: number, record: RecordView) => void;

interface Events {
  sink: EventSink | undefined;
  /** Events that arrived before the sink was set. */
  held: { readonly kind: number; readonly record: KeptRecord }[] | undefined;
}

/** The application's end of the event ring: settles commands, and passes events to the sinks of their protocols. */
export class EventInbox {
  readonly #protocols = new Map<number, Events>();
  #draining = false;
  #stopped = false;

  constructor(
    private readonly events: RingReader,
    private readonly words: Int32Array,
    private readonly commands: CommandQueue,
    private readonly signalWorker: EventFdSignal,
  ) {}

  /** Sets the sink of a protocol. Soon after, it gets the earlier events. */
  listen(protocol: number, sink: EventSink): void {
    const events = this.#of(protocol);
    events.sink = sink;
    queueMicrotask(() => {
      // This keeps the order: until now new events were queued behind the held ones.
      const { held = [] } = events;
      events.held = undefined;
      for (const { kind, record } of held) deliver(sink, kind, record);
    });
  }

  /** Called by the watcher of the application's eventfd. */
  readonly wakeUp = (): void => {
    if (this.#stopped) return;
    this.commands.flush();
    if (!this.#draining) this.#drain();
  };

  /** The worker has exited: handles the records that it had published, and no later ones. */
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
          this.events.release();
          this.#draining = false;
          this.#announceRoom();
          return;
        }
        Atomics.store(this.words, ControlWord.APPLICATION_SLEEPING, 0);
        continue;
      }
      this.#take();
    }
    // Further records are there: let the application's event loop have a turn first.
    this.events.release();
    this.#draining = true;
    this.#announceRoom();
    setImmediate(this.#drain);
  };

  #announceRoom(): void {
    const wakeWorker = (): void => signalSleeper(this.words, ControlWord.WORKER_SLEEPING, this.signalWorker);
    signalRoom(this.words, ControlWord.EVENT_ROOM_WANTED, wakeWorker);
  }

  #take(): void {
    const { events } = this;
    const { tag, request } = events;
    const kind = tag & MAX_KIND;
    if (request === 0) this.#event(this.#of(tag >>> 16), kind);
    else if (kind === ReplyKind.DONE) this.commands.answer(request, events.payload);
    else this.commands.fail(request, protocolError(decodeFailure(events.payload)));
  }

  #event({ sink, held }: Events, kind: number): void {
    if (held) held.push({ kind, record: new KeptRecord(this.events.payload) });
    else deliver(sink!, kind, this.events);
  }

  #of(protocol: number): Events {
    let events = this.#protocols.get(protocol);
    if (!events) {
      events = { sink: undefined, held: [] };
      this.#protocols.set(protocol, events);
    }
    return events;
  }
}

function deliver(sink: EventSink, kind: number, record: RecordView): void {
  try {
    sink(kind, record);
  } catch (error) {
    // An error of the application is an uncaught exception there, as for any event listener, and the other events
    // still arrive.
    queueMicrotask(() => {
      throw error;
    });
  }
}
