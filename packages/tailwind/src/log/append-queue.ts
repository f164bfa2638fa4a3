import { Fifo } from '@rdmc/common';
import { EntryType } from '../format/layout.js';
import { keyOfPayload, keyText } from '../format/payloads.js';
import type { Ticket } from './ticket.js';

/** Appends that wait for a segment, in order. */
export class AppendQueue {
  readonly #tickets = new Fifo<Ticket>();
  #heldBytes = 0;
  #keys: Set<string> | undefined;

  get length(): number {
    return this.#tickets.length;
  }

  /** What they hold of this process's memory, about. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  peek(): Ticket | undefined {
    return this.#tickets.peek();
  }

  push(ticket: Ticket): void {
    this.#tickets.push(ticket);
    this.#heldBytes += ticket.heldBytes;
    if (this.#keys) note(this.#keys, ticket);
  }

  shift(): Ticket | undefined {
    const ticket = this.#tickets.shift();
    if (ticket) this.#heldBytes -= ticket.heldBytes;
    return ticket;
  }

  failAll(error: Error): void {
    for (let ticket = this.shift(); ticket; ticket = this.shift()) ticket.fail(error);
  }

  /** Runs `action` with the keys that wait, or come to wait meanwhile. One at a time. */
  async withKeys<T>(action: (keys: ReadonlySet<string>) => Promise<T>): Promise<T> {
    const keys = new Set<string>();
    for (const ticket of this.#tickets) note(keys, ticket);
    this.#keys = keys;
    try {
      return await action(keys);
    } finally {
      this.#keys = undefined;
    }
  }
}

function note(keys: Set<string>, { entries }: Ticket): void {
  for (const { type, parts } of entries) {
    const payload = parts.length === 1 ? parts[0]! : Buffer.concat(parts);
    keys.add(keyText(keyOfPayload(type === EntryType.TOMBSTONE, payload)));
  }
}
