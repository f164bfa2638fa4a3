import { EntryType } from '@rdmc/tailwind';
import { segmentEntries } from '@rdmc/tailwind/format';
import { type LogSurvey, readWhole } from '@rdmc/tailwind/salvage';
import type { Floors } from '../cluster/tenure.js';
import { decodeKey, latin1 } from '../store/record.js';
import { slotOf } from '../store/slot.js';

/** The highest version of a key in the files, and whether it is a removal. */
interface Latest {
  readonly version: number;
  readonly isRemoval: boolean;
}

/** Counts keys with a value, and entries, of the present tenures, in the files of a log. */
export async function countKeys(
  { segments }: LogSurvey,
  tenures: Pick<Floors, 'isReplayed'>,
): Promise<{ keys: number; entries: number }> {
  const latest = new Map<string, Latest>();
  let entries = 0;
  for (const { file, byteLength } of segments) {
    for (const { type, payload } of segmentEntries(await readWhole(file), byteLength)) {
      const found = decodeKey(type, payload);
      if (!found || !tenures.isReplayed(slotOf(found.key, 0, found.key.length), found.version)) continue;
      entries += 1;
      // The fields of a hash are not keys; its head is one.
      if (found.field) continue;
      const isRemoval = type === EntryType.TOMBSTONE;
      const { version } = found;
      const text = latin1(found.key);
      if ((latest.get(text)?.version ?? -1) < version) latest.set(text, { version, isRemoval });
    }
  }
  return { keys: [...latest.values()].filter(({ isRemoval }) => !isRemoval).length, entries };
}
