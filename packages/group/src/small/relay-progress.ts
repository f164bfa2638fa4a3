import { ControlWord } from './layout.js';

/** What the application's thread of a relay knows of its worker: whether the children have what has arrived. */
export class RelayProgress {
  constructor(private readonly control: Int32Array) {}

  /** Whether all children have every entry that has arrived. If not, an event follows when that may have changed. */
  get isDone(): boolean {
    if (this.#hasAll) return true;
    Atomics.store(this.control, ControlWord.RELAYING, 1);
    // What came before the request is not announced.
    return this.#hasAll;
  }

  get #hasAll(): boolean {
    const head = Atomics.load(this.control, ControlWord.HEAD);
    return Atomics.load(this.control, ControlWord.RELAYED) === head;
  }
}
