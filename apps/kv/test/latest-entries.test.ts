/** Entries in the bytes of a dead log, against their decoded form and a map. */

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type EntryPlace, LatestEntries } from '../src/cluster/latest-entries.js';
import {
  decodeRecord,
  encodeField,
  encodeHead,
  encodeKeyObject,
  encodeKeyRemoval,
  type KeyRecord,
  kindOf,
  readKeyPlace,
  readString,
} from '../src/store/record.js';
import { withHeader } from './support/recorded-log.js';

const text = fc.string({ unit: 'binary-ascii', maxLength: 6 });
const version = fc.integer({ min: 0, max: 2 ** 40 });
const expiresAt = fc.constantFrom(0, 1, 1.7e12);
const entry = fc.oneof(
  fc.record({ key: text, version, value: text, expiresAt }).map(encodeKeyObject),
  fc.record({ key: text, version, value: version, expiresAt }).map(encodeHead),
  fc.tuple(text, version).map(([key, each]) => encodeKeyRemoval(key, each, 1n)),
  fc.tuple(text, text, version, text).map((args) => encodeField(...args)),
);

function placeIn(bytes: Buffer, at: number, end: number): EntryPlace {
  return { bytes, at, end, keyStart: 0, keyEnd: 0, version: 0, slot: 0 };
}

function decoded(type: number, payload: Buffer): KeyRecord | undefined {
  try {
    return decodeRecord(type, payload);
  } catch {
    return undefined;
  }
}

it('an entry is read in its place as it is decoded, also where it is damaged or cut', () => {
  const change = fc.option(fc.tuple(fc.nat(40), fc.constantFrom(0, 1, 2, 3, 4, 255)));
  let seen = 0;
  fc.assert(
    fc.property(entry, change, fc.nat(3), ({ type, parts }, changed, cut) => {
      const whole = Buffer.concat(parts);
      const payload = Buffer.from(whole.subarray(0, whole.length - (changed ? cut : 0)));
      if (changed && changed[0] < payload.length) payload[changed[0]] = changed[1];
      const around = Buffer.from('neighbour');
      const bytes = Buffer.concat([around, ...withHeader({ type, payload }), around]);
      const place = placeIn(bytes, around.length, bytes.length - around.length);
      const record = decoded(type, payload);
      const isFound = readKeyPlace(place);
      expect(isFound).toBe(record !== undefined && record.field === undefined);
      if (!record || !isFound) return;
      seen += 1;
      expect(bytes.toString('latin1', place.keyStart, place.keyEnd)).toBe(record.key);
      expect(place.version).toBe(record.version);
      const { value } = record;
      const kind = value === undefined ? 'removal' : typeof value === 'string' ? 'string' : 'hash';
      expect(kindOf(place)).toBe(kind);
      if (kind === 'string') expect(readString(place)).toEqual({ value, expiresAt: record.expiresAt });
    }),
    { numRuns: 400 },
  );
  expect(seen).toBeGreaterThan(100);
});

it('of each key exactly the latest entry is kept, of equal versions the first one', () => {
  const latest = new LatestEntries();
  const expected = new Map<string, string>();
  const versions = new Map<string, number>();
  // Many more entries than the first arrays have room for, in parts of some.
  const entries = Array.from({ length: 6000 }, (_, number) => {
    return { key: `${(number * 7919) % 1900}`, version: (number * 104_729) % 1009, value: `${number}` };
  });
  for (let from = 0; from < entries.length; from += 500) {
    const part = entries.slice(from, from + 500);
    const pieces = part.map((each) => {
      const { type, parts } = encodeKeyObject({ ...each, expiresAt: 0 });
      return Buffer.concat(withHeader({ type, payload: Buffer.concat(parts) }));
    });
    const bytes = Buffer.concat(pieces);
    let at = 0;
    for (const [index, { key, version: number, value }] of part.entries()) {
      const place = placeIn(bytes, at, at + pieces[index]!.length);
      expect(readKeyPlace(place)).toBe(true);
      latest.add(place);
      at = place.end;
      if (number <= (versions.get(key) ?? -1)) continue;
      versions.set(key, number);
      expected.set(key, value);
    }
  }
  const found = new Map<string, string>();
  const place = placeIn(Buffer.alloc(0), 0, 0);
  for (let position = 0; position < latest.count; position += 1) {
    if (!latest.read(position, place)) continue;
    const key = place.bytes.toString('latin1', place.keyStart, place.keyEnd);
    expect(found.has(key)).toBe(false);
    expect(place.version).toBe(versions.get(key));
    found.set(key, readString(place).value);
  }
  expect(found).toEqual(expected);
});

it('strings, heads of hashes and removals are found as in a map', () => {
  const keys = fc.constantFrom('', 'a', 'b', 'ab', 'a longer key');
  const versions = fc.integer({ min: 0, max: 2 ** 40 });
  const entries = fc.oneof(
    fc.record({ key: keys, version: versions, value: text, expiresAt }).map(encodeKeyObject),
    fc.record({ key: keys, version: versions, value: version, expiresAt }).map(encodeHead),
    fc.tuple(keys, versions).map(([key, each]) => encodeKeyRemoval(key, each, 1n)),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(entries, fc.nat(16_383)), { maxLength: 40 }), (list) => {
      const latest = new LatestEntries();
      const model = new Map<
        string,
        { version: number; slot: number; bytes: Buffer; at: number; end: number }
      >();
      for (const [{ type, parts }, slot] of list) {
        const around = Buffer.alloc(slot % 5);
        const bytes = Buffer.concat([around, ...withHeader({ type, payload: Buffer.concat(parts) }), around]);
        const place = { ...placeIn(bytes, around.length, bytes.length - around.length), slot };
        readKeyPlace(place);
        latest.add(place);
        const key = bytes.toString('latin1', place.keyStart, place.keyEnd);
        const { version: number, at, end } = place;
        if (number > (model.get(key)?.version ?? -1))
          model.set(key, { version: number, slot, bytes, at, end });
      }
      const found = new Map<string, unknown>();
      const place = placeIn(Buffer.alloc(0), 0, 0);
      for (let position = 0; position < latest.count; position += 1) {
        if (!latest.read(position, place)) continue;
        const { version: number, slot, bytes, at, end } = place;
        found.set(bytes.toString('latin1', place.keyStart, place.keyEnd), {
          version: number,
          slot,
          bytes,
          at,
          end,
        });
      }
      expect(found).toEqual(model);
    }),
    { numRuns: 200 },
  );
});
