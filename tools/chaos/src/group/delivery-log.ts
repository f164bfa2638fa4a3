import { closeSync, existsSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/*
 * The files of a member, in the page cache once a write returns: so they have what it did before kill -9. A delivery is logged before
 * its memory is released.
 *
 * record of a delivery, 16 bytes, little endian
 *    0        4              8        12
 *    ├────────┼──────────────┼────────┼────────┤
 *    │ sender │ number there │ number │ damage │
 *    │ i32    │ i32          │ u32    │ u32    │
 */
const RECORD_BYTES = 16;

/** A message that the application of a member got. */
export interface Delivery {
  /** What its bytes say: who sent it, and how many that sender had sent before. */
  readonly sender: number;
  readonly index: number;
  /** The number that the group gave it. */
  readonly number: number;
  /** Its bytes are not those that were sent, or the group names another sender. */
  readonly isDamaged: boolean;
}

/** A member in one of its groups. */
export interface LogPlace {
  readonly directory: string;
  readonly id: number;
  readonly round: number;
}

const fileOf = ({ directory, id, round }: LogPlace, what: string): string =>
  join(directory, `${id}-${round}.${what}`);

/** What a member writes about itself. */
export class DeliveryLog {
  readonly #deliveries: number;
  readonly #sends: number;

  constructor(place: LogPlace) {
    this.#deliveries = openSync(fileOf(place, 'deliveries'), 'a');
    this.#sends = openSync(fileOf(place, 'sends'), 'w');
  }

  delivered(deliveries: readonly Delivery[]): void {
    const bytes = Buffer.alloc(deliveries.length * RECORD_BYTES);
    for (const [index, { sender, index: sent, number, isDamaged }] of deliveries.entries()) {
      const at = index * RECORD_BYTES;
      bytes.writeInt32LE(sender, at);
      bytes.writeInt32LE(sent, at + 4);
      bytes.writeUInt32LE(number, at + 8);
      bytes.writeUInt32LE(isDamaged ? 1 : 0, at + 12);
    }
    writeSync(this.#deliveries, bytes);
  }

  /** To be called before the sends. */
  sends(count: number): void {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32LE(count);
    writeSync(this.#sends, bytes, 0, bytes.length, 0);
  }

  close(): void {
    closeSync(this.#deliveries);
    closeSync(this.#sends);
  }
}

/** What a member delivered, in order. A record that it was writing when it died is left out. */
export function readDeliveries(place: LogPlace): Delivery[] {
  const bytes = contentsOf(fileOf(place, 'deliveries'));
  return Array.from({ length: Math.floor(bytes.length / RECORD_BYTES) }, (_, record) => {
    const at = record * RECORD_BYTES;
    return {
      sender: bytes.readInt32LE(at),
      index: bytes.readInt32LE(at + 4),
      number: bytes.readUInt32LE(at + 8),
      isDamaged: bytes.readUInt32LE(at + 12) !== 0,
    };
  });
}

/** How many messages a member has sent, or begun to send. */
export function readSends(place: LogPlace): number {
  const bytes = contentsOf(fileOf(place, 'sends'));
  return bytes.length < 4 ? 0 : bytes.readUInt32LE(0);
}

function contentsOf(path: string): Buffer {
  return existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
}
