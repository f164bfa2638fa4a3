import type { ProtocolContext } from '@rdmc/dataplane';
import type { ConnectOptions, QueuePairAddress } from '@rdmc/verbs';
import type { GroupRecords, SmallAddress, SmallSetup } from '../records.js';
import { ControlWord } from '../small/layout.js';
import { controlWords } from './control-words.js';
import { type Growth, RingOutput } from './ring-output.js';
import { SmallReceiver } from './small-receiver.js';
import type { FullRing, SmallHost, SmallSide } from './small-side.js';

/**
 * The side of a relay of the tree: a receiver of its parent that writes what has arrived in its ring into the rings of its
 * children. Its parent learns that an entry is free when the children have acknowledged it, too.
 */
export class SmallRelay implements SmallSide {
  readonly #control: Int32Array;
  readonly #output: RingOutput;
  readonly #input: SmallReceiver;
  /** The links to its children are the first ones; behind them is the one to its parent. */
  readonly #children: number;

  constructor(
    context: ProtocolContext<GroupRecords>,
    setup: SmallSetup,
    private readonly host: SmallHost,
    counters: Float64Array,
  ) {
    this.#control = controlWords(context.device, setup.control);
    this.#output = new RingOutput(context, setup, host, counters);
    this.#input = new SmallReceiver(context, setup, host, this.#output);
    this.#children = setup.links - 1;
  }

  createQueue(link: number): QueuePairAddress {
    return this.#side(link).createQueue(link);
  }

  connect(link: number, address: SmallAddress, options: ConnectOptions): Promise<string> {
    return this.#side(link).connect(link, address, options);
  }

  advance(): void {
    // Messages that are relayed do not count as sent by this member.
    this.#output.write(this.#input.head, 0, 0, this.#growth);
    this.#input.advance();
    const written = this.#output.written | 0;
    if (Atomics.exchange(this.#control, ControlWord.RELAYED, written) === written) return;
    if (Atomics.exchange(this.#control, ControlWord.RELAYING, 0) === 1) this.host.tellApplication();
  }

  grow({ ring, addresses }: FullRing): void {
    this.#output.grow(ring, addresses);
    this.#input.grow();
  }

  get #growth(): Growth | undefined {
    const at = this.#input.grownAt;
    return at === undefined ? undefined : { at, messages: 0, bytes: 0 };
  }

  get waitsForOwn(): boolean {
    return this.#output.waitsForOwn || this.#input.waitsForOwn;
  }

  get isBusy(): boolean {
    return this.#input.isBusy || this.#output.isBusyUpTo(this.#input.head);
  }

  cameFrom(link: number): number {
    return this.#side(link).cameFrom(link);
  }

  probe(link: number): void {
    this.#side(link).probe(link);
  }

  modifyToError(): void {
    this.#output.modifyToError();
    this.#input.modifyToError();
  }

  async close(): Promise<void> {
    await Promise.all([this.#output.close(), this.#input.close()]);
  }

  #side(link: number): RingOutput | SmallReceiver {
    return link < this.#children ? this.#output : this.#input;
  }
}
