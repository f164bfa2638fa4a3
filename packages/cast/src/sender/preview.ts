import type { EntryChange } from '../cast-summary.js';
import { EntryState, isLacking } from '../manifest/entry-states.js';
import type { EntryFacts } from '../reader/orders.js';
import type { ReaderThread } from './reader-thread.js';
import type { ReceiverLink } from './receiver-link.js';

const CHANGES: Readonly<Record<number, EntryChange['change']>> = {
  [EntryState.ABSENT]: 'create',
  [EntryState.DIFFERS]: 'replace',
  [EntryState.OLDER]: 'replace',
  [EntryState.PARTLY]: 'create',
  [EntryState.ATTRIBUTES]: 'attributes',
};

/** What a dry run found. */
export interface Preview {
  readonly changes: ReadonlyMap<ReceiverLink, readonly EntryChange[]>;
  /** Regular files that at least one receiver lacks, and their sizes. */
  readonly files: number;
  readonly bytes: number;
}

/** What a cast would change at each receiver. @param remove whether it would remove surplus entries */
export async function previewOf(
  reader: ReaderThread,
  links: readonly ReceiverLink[],
  remove: boolean,
): Promise<Preview> {
  const indices = concerned(links);
  const facts = await reader.facts(indices);
  const changes = new Map(links.map((link) => [link, changesOf(link, indices, facts, remove)]));
  const isSent = (index: number): boolean => links.some(({ states }) => isLacking(states[index]!));
  const files = facts.filter(({ kind }, at) => kind === 'file' && isSent(indices[at]!));
  return { changes, files: files.length, bytes: files.reduce((sum, { bytes }) => sum + bytes, 0) };
}

/** Entries that change at one receiver at least. */
function concerned(links: readonly ReceiverLink[]): Uint32Array {
  const length = links[0]?.states.length ?? 0;
  const indices: number[] = [];
  for (let index = 0; index < length; index += 1) {
    if (links.some(({ states }) => CHANGES[states[index]!] !== undefined)) indices.push(index);
  }
  return Uint32Array.from(indices);
}

function changesOf(
  { states, surplus }: ReceiverLink,
  indices: Uint32Array,
  facts: readonly EntryFacts[],
  remove: boolean,
): EntryChange[] {
  const changes = facts.flatMap((entry, at): EntryChange[] => {
    const change = CHANGES[states[indices[at]!]!];
    return change === undefined ? [] : [{ change, ...entry }];
  });
  if (!remove) return changes;
  const removed = surplus.paths.map((path): EntryChange => {
    const isDirectory = path.endsWith('/');
    const name = isDirectory ? path.slice(0, -1) : path;
    return { change: 'remove', path: name, kind: isDirectory ? 'directory' : 'other', bytes: 0 };
  });
  return [...changes, ...removed];
}
