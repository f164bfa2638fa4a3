import { decodeTombstone, EntryType } from '@rdmc/tailwind';
import { segmentEntries } from '@rdmc/tailwind/format';
import { type LogSurvey, readWhole } from '@rdmc/tailwind/salvage';
import { decodeKey } from '../store/record.js';
import { slotOf } from '../store/slot.js';

/** The highest version of a key in the files, and whether it is a removal. */
interface Latest {
  readonly version: number;
  readonly isRemoval: boolean;
}

/** Counts keys with a value, and entries, of some slots, in the files of a log. */
export async function countKeys(
  { segments }: LogSurvey,
  isOurs: (slot: number) => boolean,
): Promise<{ keys: number; entries: number }> {
  const latest = new Map<string, Latest>();
  let entries = 0;
  for (const { file, byteLength } of segments) {
    for (const { type, payload } of segmentEntries(await readWhole(file), byteLength)) {
      if (type !== EntryType.OBJECT && type !== EntryType.TOMBSTONE) continue;
      const isRemoval = type === EntryType.TOMBSTONE;
      const { key, version } = isRemoval ? decodeTombstone(payload) : keyOfObject(payload);
      if (!isOurs(slotOf(key, 0, key.length))) continue;
      entries += 1;
      const text = Buffer.from(key).toString('latin1');
      if ((latest.get(text)?.version ?? -1) < version) latest.set(text, { version, isRemoval });
    }
  }
  return { keys: [...latest.values()].filter(({ isRemoval }) => !isRemoval).length, entries };
}

function keyOfObject(payload: Uint8Array): { key: Uint8Array; version: number } {
  const { keyBytes: key, version } = decodeKey(payload);
  return { key, version };
}
