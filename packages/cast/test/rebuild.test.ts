import { describe, expect, it } from 'vitest';
import { BlockSet } from '../src/delta/block-set.js';
import { Selected } from '../src/reader/selection.js';
import type { ReaderThread } from '../src/sender/reader-thread.js';
import { planRebuild } from '../src/sender/rebuild.js';
import type { ReceiverLink } from '../src/sender/receiver-link.js';

const MANY = 2_000_000;

/** A receiver that had older files of these entries, and could not build some of them. */
function link(older: readonly number[], unbuilt: readonly number[] = []): ReceiverLink {
  const lacking = new Map(older.map((entry) => [entry, new BlockSet(1)]));
  const check = async () => new Set(unbuilt);
  return { alive: true, blocks: { lacking }, check } as unknown as ReceiverLink;
}

const reader = { costs: async () => Float64Array.of(256, MANY, MANY) } as unknown as ReaderThread;

describe('files that could not be built from older ones', () => {
  it('are sent only as they were compared: other receivers, which were not asked, may have them', async () => {
    const [asked, whole] = [link([1], [1]), link([])];
    const phases = await planRebuild([asked, whole], reader);
    expect(phases.map(({ links }) => links)).toEqual([[asked]]);
    expect([...phases[0]!.selection!]).toEqual([Selected.NO, Selected.UNCHANGED, Selected.NO]);
    expect(phases[0]!.sentBlocks.size).toBe(0);
  });

  it('are not sent where none is reported', async () => {
    expect(await planRebuild([link([1]), link([])], reader)).toEqual([]);
  });
});
