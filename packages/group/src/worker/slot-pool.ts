import { Fifo } from '@rdmc/common';

/** The functions of the group that the pool calls. */
export interface SlotPort {
  /** Gives the slot to the message. */
  placeInSlot(message: number, slot: number): void;
  /** The application is asked for memory. */
  ask(message: number, byteLength: number): void;
}

interface Begun {
  readonly message: number;
  readonly byteLength: number;
}

/**
 * The slots of memory ahead, and which messages have them. A message that fits gets a free slot at once, or waits for the
 * next one that the application releases; the group waits with it. A longer message does not need a slot: the
 * application is asked. Messages that wait get slots in their order.
 */
export class SlotPool {
  readonly #free: number[];
  readonly #waiting = new Fifo<Begun>();
  readonly #placed = new Map<number, Begun & { readonly slot: number }>();
  #mayWait = true;

  constructor(
    slots: number,
    private readonly slotBytes: number,
    private readonly port: SlotPort,
  ) {
    this.#free = Array.from({ length: slots }, (_, index) => slots - 1 - index);
  }

  /** Messages that wait for a slot. */
  get waiting(): number {
    return this.#waiting.length;
  }

  begin(message: number, byteLength: number): void {
    const slot = byteLength <= this.slotBytes ? this.#free.pop() : undefined;
    if (slot !== undefined) this.#place({ message, byteLength }, slot);
    else if (byteLength <= this.slotBytes && this.#mayWait) this.#waiting.push({ message, byteLength });
    else this.port.ask(message, byteLength);
  }

  /** The message is complete. Its slot and length; undefined if it does not have a slot. */
  finish(message: number): { readonly slot: number; readonly byteLength: number } | undefined {
    const placed = this.#placed.get(message);
    this.#placed.delete(message);
    return placed;
  }

  /** The application does not need the slot any more. */
  release(slot: number): void {
    const next = this.#waiting.shift();
    if (next) this.#place(next, slot);
    else this.#free.push(slot);
  }

  /** The application closes the group: messages without a slot do not wait, so that the group can end. */
  lift(): void {
    this.#mayWait = false;
    for (const { message, byteLength } of this.#waiting.drain()) this.port.ask(message, byteLength);
  }

  #place(begun: Begun, slot: number): void {
    this.#placed.set(begun.message, { ...begun, slot });
    this.port.placeInSlot(begun.message, slot);
  }
}
