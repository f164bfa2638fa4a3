import { expect, it } from 'vitest';
import slotOfEntry from '../src/slot-divider.js';
import { encodeField, encodeFieldRemoval, encodeKeyObject, encodeKeyRemoval } from '../src/store/record.js';
import { slotOfText } from '../src/store/slot.js';
import { slotOfKey } from './support/recorded-log.js';

const record = { version: 5, value: 'v', expiresAt: 0 };

/** The slot of an entry that lies somewhere in other bytes. */
function slotIn(
  { type, parts }: { readonly type: number; readonly parts: readonly Uint8Array[] },
  cut = 0,
): number {
  const payload = Buffer.concat(parts);
  const bytes = Buffer.concat([Buffer.from('0123456789'), payload, Buffer.alloc(20)]);
  return slotOfEntry(type, bytes, 10, 10 + payload.length - cut);
}

it.each(['k', '', '{tag}rest', 'a{}b{c}', 'a{b', '}{', 'a{{b}c', '\u00ff{\u0080}', 'x'.repeat(300)])(
  'entries are in the slot of their key: %j',
  (key) => {
    const slot = slotOfKey(key);
    const entries = [
      encodeKeyObject({ ...record, key }),
      encodeKeyRemoval(key, 6, 1n),
      encodeField(key, 'field', 7, 'v'),
      encodeFieldRemoval(key, 'field', 8, 1n),
    ];
    expect(entries.map((entry) => slotIn(entry))).toEqual([slot, slot, slot, slot]);
    expect(slotOfText(key)).toBe(slot);
  },
);

it('entries that are not of a key have none, and one that is damaged is refused', () => {
  expect([1, 4, 9].map((type) => slotOfEntry(type, new Uint8Array(40), 0, 40))).toEqual([-1, -1, -1]);
  const field = encodeField('key', 'f', 1, '');
  expect(() => slotIn(field, 3)).toThrow('not one that this version of kv writes');
  const removal = encodeKeyRemoval('key', 1, 1n);
  expect(() =>
    slotIn(
      removal,
      removal.parts.reduce((sum, part) => sum + part.length, 0),
    ),
  ).toThrow('version');
  const unknown = Buffer.concat(encodeKeyObject({ ...record, key: 'k' }).parts);
  unknown[12] = 7;
  expect(() => slotOfEntry(2, unknown, 0, unknown.length)).toThrow('version');
});
