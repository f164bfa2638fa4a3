import { TraceKind } from './layout.js';
import type { TraceEvent } from './records.js';

/** Bytes of a name in one record: its words message, block and peer. */
const PART_BYTES = 12;
const MOST_PARTS = 22;

/** The records with a member's name, which is cut at 264 bytes of UTF-8. */
export function nameRecords(member: number, name: string, time: number): TraceEvent[] {
  const text = new TextEncoder().encode(name);
  const parts = Math.min(MOST_PARTS, Math.ceil(text.byteLength / PART_BYTES));
  return Array.from({ length: parts }, (_, part) => {
    const bytes = new Uint8Array(PART_BYTES);
    bytes.set(text.subarray(part * PART_BYTES, (part + 1) * PART_BYTES));
    const view = new DataView(bytes.buffer);
    const [message, block, peer] = [0, 4, 8].map((at) => view.getUint32(at, true)) as [
      number,
      number,
      number,
    ];
    return { time, member, kind: TraceKind.NAME, protocol: 0, group: part, message, block, peer };
  });
}

/** The names of members. The first one that a member was given counts. */
export function namesOf(events: readonly TraceEvent[]): Map<number, string> {
  const parts = new Map<number, Map<number, Uint8Array>>();
  for (const { kind, member, group: part, message, block, peer } of events) {
    if (kind !== TraceKind.NAME) continue;
    const known = parts.get(member) ?? new Map<number, Uint8Array>();
    if (!known.has(part)) known.set(part, bytesOf(message, block, peer));
    parts.set(member, known);
  }
  return new Map([...parts].map(([member, known]) => [member, textOf(known)]));
}

function bytesOf(...words: readonly number[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(PART_BYTES));
  for (const [index, word] of words.entries()) view.setUint32(index * 4, word, true);
  return new Uint8Array(view.buffer);
}

function textOf(parts: ReadonlyMap<number, Uint8Array>): string {
  const inOrder = [...parts].sort(([a], [b]) => a - b).flatMap(([, bytes]) => [...bytes]);
  const end = inOrder.indexOf(0);
  return new TextDecoder().decode(Uint8Array.from(end === -1 ? inOrder : inOrder.slice(0, end)));
}
