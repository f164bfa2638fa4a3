import { performance } from 'node:perf_hooks';
import { COMMANDS_PER_TURN, SLICE_MS } from './constants.js';
import { ControlWord } from './control.js';
import { Counter } from './counters.js';
import type { EventOutbox } from './event-outbox.js';
import type { PollPolicy } from './poll-policy.js';
import type { RingReader } from './ring.js';
import { NONE, TraceKind, TraceProtocol } from './trace/layout.js';
import { type TraceSink, traceSubject } from './trace/recorder.js';
import { type EventFdSignal, signalRoom } from './wake.js';

const TRACED = traceSubject(TraceProtocol.DATA_PLANE, 0);

/** The inputs and outputs of the loop: in the worker those of the device; tests have their own. */
export interface LoopParts {
  readonly words: Int32Array;
  readonly counters: Float64Array;
  readonly trace?: TraceSink | undefined;
  readonly commands: RingReader;
  readonly outbox: EventOutbox;
  readonly policy: PollPolicy;
  /** Fills the batch; returns the number of completions. */
  readonly pollBatch: () => number;
  readonly armChannel: () => void;
  readonly yieldProcessor: () => number;
  /** Starts a timer that calls `endNap` soon. */
  readonly startNap: () => void;
  readonly signalApplication: EventFdSignal;
  readonly dispatchCompletions: (count: number) => void;
  /** Dispatches work requests that were refused at posting; returns their number. */
  readonly dispatchRefused: () => number;
  readonly dispatchCommand: (commands: RingReader) => void;
  /** Handlers that run after each batch of work, before the doorbell. */
  readonly afterWork: () => void;
  /** Posts the work requests of the turn. */
  readonly ringDoorbell: () => void;
}

/**
 * The worker's loop: commands, completions, handlers, one doorbell, and again. It runs in slices, so that the
 * worker's event loop (promises, timers, connecting) gets turns in between. It sleeps in that event loop: the watchers
 * of commands and completions call `wakeUp`. Native calls do not block.
 */
export class WorkerLoop {
  #asleep = false;
  #turnAsked = false;
  #lookAsked = false;
  /** Whether all protocols that asked for a look allow a nap. */
  #mayNap = true;
  /** Whether it sleeps only until the next look. */
  #napping = false;
  #inTurn = false;
  #stopped = false;
  #stopWhenFlushed: (() => void) | undefined;

  constructor(private readonly parts: LoopParts) {}

  start(): void {
    setImmediate(this.#slice);
  }

  /** Called by the watchers of the channel and of the eventfd. Spurious calls are harmless. */
  readonly wakeUp = (): void => {
    if (!this.#asleep) return;
    this.#awake();
    this.#slice();
  };

  /** Asks for a turn, from handlers or from asynchronous code of a protocol. */
  askTurn(): void {
    this.#turnAsked = true;
    if (!this.#asleep) return;
    this.#awake();
    setImmediate(this.#slice);
  }

  /** Asks for a turn, without an event, in which protocols look at shared memory: `ProtocolContext.look`. */
  askLook(mayNap: boolean): void {
    this.#lookAsked = true;
    this.#mayNap &&= mayNap;
    if (!this.#asleep) return;
    this.#awake();
    setImmediate(this.#slice);
  }

  /** Called by the timer of a nap; possibly late, after another event has ended the nap. */
  endNap(): void {
    if (this.#napping) this.wakeUp();
  }

  /** A record was sent: outside of a turn the loop must announce it here. */
  sent(delivered: boolean): void {
    if (this.#inTurn) return;
    this.parts.outbox.announce();
    if (!delivered) this.askTurn();
  }

  /** Ends the loop once all records that were emitted so far are in the event ring. */
  stop(): Promise<void> {
    return new Promise((resolve) => {
      this.#stopWhenFlushed = resolve;
      this.askTurn();
    });
  }

  #awake(): void {
    this.#asleep = false;
    Atomics.store(this.parts.words, ControlWord.WORKER_SLEEPING, 0);
    if (!this.#napping) {
      this.parts.counters[Counter.wakeups]! += 1;
      this.parts.trace?.put(TRACED, TraceKind.WAKE_UP, NONE, NONE, NONE);
    }
    this.#napping = false;
  }

  readonly #slice = (): void => {
    const started = performance.now();
    const goesOn = this.#spin(started);
    const { counters } = this.parts;
    counters[Counter.pollingMicroseconds]! += (performance.now() - started) * 1000;
    if (goesOn) setImmediate(this.#slice);
    // Counted last: a thread that reads this sleep also sees everything that was counted before it.
    else if (this.#asleep && !this.#napping) {
      this.parts.trace?.put(TRACED, TraceKind.SLEEP, NONE, NONE, NONE);
      counters[Counter.sleeps]! += 1;
    }
  };

  /** Runs turns until the slice is over (true) or the loop sleeps or stops (false). */
  #spin(started: number): boolean {
    const { policy, outbox } = this.parts;
    for (;;) {
      const worked = this.#turn();
      if (this.#stopped) return false;
      const now = performance.now();
      if (outbox.blocked) {
        if (this.#sleepUntilRoom()) return false;
      } else if (worked) {
        policy.worked(now);
      } else if (this.#lookAsked) {
        if (this.#yieldOrNap(now)) return false;
      } else if (policy.maySleep(now)) {
        if (this.#sleep()) return false;
      } else if (policy.yielded(this.parts.yieldProcessor(), now)) {
        this.parts.counters[Counter.contested]! += 1;
      }
      if (now - started >= SLICE_MS) return true;
    }
  }

  /** Looks are the only work: yields or naps before the next one. Returns whether the thread naps. */
  #yieldOrNap(now: number): boolean {
    const { policy } = this.parts;
    if (!this.#mayNap || !policy.mayNap(now)) {
      policy.yieldedBetweenLooks(this.parts.yieldProcessor(), now);
      return false;
    }
    // The turn after the arming handles completions that came meanwhile; the look belongs to the turn after the nap.
    this.#lookAsked = false;
    const ends = this.#sleep();
    this.#lookAsked = true;
    if (!this.#asleep) return ends;
    this.#napping = true;
    this.parts.startNap();
    return true;
  }

  /** One turn. Returns whether it found work. */
  #turn(): boolean {
    const { outbox, counters } = this.parts;
    if (!outbox.flush()) {
      outbox.announce();
      return false;
    }
    if (this.#stopWhenFlushed) return this.#end(this.#stopWhenFlushed);
    this.#inTurn = true;
    const asked = this.#turnAsked;
    const looks = this.#lookAsked;
    this.#turnAsked = false;
    this.#lookAsked = false;
    this.#mayNap = true;
    const taken = this.#takeCommands() + this.#takeCompletions();
    const worked = asked || taken > 0;
    if (worked) counters[Counter.turns]! += 1;
    if (worked || looks) this.parts.afterWork();
    this.parts.ringDoorbell();
    this.#inTurn = false;
    outbox.announce();
    return worked || this.#turnAsked;
  }

  #takeCommands(): number {
    const { commands, outbox, counters, words } = this.parts;
    let taken = 0;
    while (taken < COMMANDS_PER_TURN && !outbox.blocked && commands.next()) {
      taken += 1;
      counters[Counter.commands]! += 1;
      this.parts.dispatchCommand(commands);
    }
    commands.release();
    if (taken > 0) signalRoom(words, ControlWord.COMMAND_ROOM_WANTED, this.parts.signalApplication);
    return taken;
  }

  #takeCompletions(): number {
    if (this.parts.outbox.blocked) return 0;
    const { counters } = this.parts;
    const refused = this.parts.dispatchRefused();
    const count = this.parts.pollBatch();
    counters[Counter.polls]! += 1;
    if (count === 0) {
      counters[Counter.emptyPolls]! += 1;
      return refused;
    }
    counters[Counter.completions]! += count;
    this.parts.dispatchCompletions(count);
    return refused + count;
  }

  /**
   * Arms the channel and goes to sleep, unless work arrived meanwhile: a completion from before the
   * arming does not raise an event (the ibv_req_notify_cq rule), and a command that was written before the sleeping
   * word was stored does not signal.
   */
  #sleep(): boolean {
    this.parts.armChannel();
    if (this.#turn() || this.parts.outbox.blocked || this.#stopped) return this.#stopped;
    const { words } = this.parts;
    Atomics.store(words, ControlWord.WORKER_SLEEPING, 1);
    if (!this.parts.commands.empty) {
      Atomics.store(words, ControlWord.WORKER_SLEEPING, 0);
      return false;
    }
    this.#asleep = true;
    return true;
  }

  /** Sleeps while the event ring is full: only the application can make room, and polling would delay it. */
  #sleepUntilRoom(): boolean {
    const { outbox, words, counters } = this.parts;
    outbox.wantRoom();
    if (outbox.flush()) return false;
    outbox.announce();
    counters[Counter.eventRingFull]! += 1;
    Atomics.store(words, ControlWord.WORKER_SLEEPING, 1);
    if (outbox.roomMade) {
      Atomics.store(words, ControlWord.WORKER_SLEEPING, 0);
      return false;
    }
    this.#asleep = true;
    return true;
  }

  #end(stopped: () => void): false {
    this.parts.outbox.announce();
    this.#stopped = true;
    stopped();
    return false;
  }
}
