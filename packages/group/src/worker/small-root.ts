import type { ProtocolContext } from '@rdmc/dataplane';
import type { ConnectOptions, QueuePairAddress } from '@rdmc/verbs';
import type { GroupRecords, SmallAddress, SmallSetup } from '../records.js';
import { ControlWord } from '../small/layout.js';
import { controlWords } from './control-words.js';
import { type Growth, RingOutput } from './ring-output.js';
import type { FullRing, SmallHost, SmallSide } from './small-side.js';

/** A sender's side: writes what its application has put into its ring into the rings of its receivers. */
export class SmallRoot implements SmallSide {
  readonly #control: Int32Array;
  readonly #output: RingOutput;
  #tail = 0;
  #head = 0;
  /** Messages in front of the head, and their bytes, modulo 2^32. */
  #messages = 0;
  #bytes = 0;
  #growth: Growth | undefined;

  constructor(
    context: ProtocolContext<GroupRecords>,
    setup: SmallSetup,
    private readonly host: SmallHost,
    counters: Float64Array,
    /** The control words of this member as a receiver of its own messages, if it is one. */
    private readonly self?: Int32Array,
  ) {
    this.#control = controlWords(context.device, setup.control);
    this.#output = new RingOutput(context, setup, host, counters);
  }

  createQueue(link: number): QueuePairAddress {
    return this.#output.createQueue(link);
  }

  connect(link: number, address: SmallAddress, options: ConnectOptions): Promise<string> {
    return this.#output.connect(link, address, options);
  }

  advance(): void {
    Atomics.store(this.#control, ControlWord.KICKED, 0);
    if (this.self) Atomics.store(this.self, ControlWord.KICKED, 0);
    this.#look();
    if (!this.#growth) {
      // Behind the head: the words that announce the full ring are in front of its entries.
      this.#growth = this.#grown();
      // The counts may be from before the growth, and smaller than its own.
      if (this.#growth) this.#look();
    }
    this.#output.write(this.#head, this.#messages, this.#bytes, this.#growth);
    this.#free();
  }

  grow({ ring, addresses }: FullRing): void {
    this.#output.grow(ring, addresses);
  }

  get waitsForOwn(): boolean {
    return this.#output.waitsForOwn;
  }

  get isBusy(): boolean {
    return this.#output.isBusyUpTo(this.#head);
  }

  cameFrom(link: number): number {
    return this.#output.cameFrom(link);
  }

  probe(link: number): void {
    this.#output.probe(link);
  }

  modifyToError(): void {
    this.#output.modifyToError();
  }

  close(): Promise<void> {
    return this.#output.close();
  }

  #look(): void {
    // In front of the head: then these count at most the messages that it covers.
    this.#messages = Atomics.load(this.#control, ControlWord.MESSAGES);
    this.#bytes = Atomics.load(this.#control, ControlWord.BYTES);
    this.#head = Atomics.load(this.#control, ControlWord.HEAD) >>> 0;
  }

  #grown(): Growth | undefined {
    const control = this.#control;
    if (Atomics.load(control, ControlWord.GROWN) === 0) return undefined;
    const at = Atomics.load(control, ControlWord.GROWN_AT) >>> 0;
    const messages = Atomics.load(control, ControlWord.GROWN_MESSAGES);
    return { at, messages, bytes: Atomics.load(control, ControlWord.GROWN_BYTES) };
  }

  /** Publishes the room that all receivers have made. */
  #free(): void {
    let units = (this.#output.tail - this.#tail) >>> 0;
    if (this.self) units = Math.min(units, (Atomics.load(this.self, ControlWord.TAIL) - this.#tail) >>> 0);
    if (units === 0) return;
    this.#tail = (this.#tail + units) >>> 0;
    Atomics.store(this.#control, ControlWord.TAIL, this.#tail | 0);
    if (Atomics.exchange(this.#control, ControlWord.WAITING, 0) === 1) this.host.tellApplication();
  }
}
