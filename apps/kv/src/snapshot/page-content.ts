import type { Buffer } from 'node:buffer';
import { setImmediate as turn } from 'node:timers/promises';
import { SNAPSHOT_PAGE_BYTES } from '../limits.js';
import { Hash, type HashCopy, type KeyEntry } from '../store/hash.js';
import { fieldRecordBytes, type KeyFacts, keyRecordBytes, PageWriter } from './page-writer.js';
import { type Place, SECTION_HEADER_BYTES, type Section } from './sections.js';

interface Held extends KeyFacts {
  readonly fields: HashCopy | undefined;
}

interface HeldSection {
  readonly head: Omit<Section, 'records'>;
  readonly keys: readonly Held[];
}

/**
 * A page as it was read in one turn: references to entries, which do not change. Encoding a large hash takes longer than a lease, or
 * a server, may wait: it is done later, in many turns.
 */
export class PageContent {
  readonly #sections: HeldSection[] = [];
  #keys: Held[] = [];
  /** Of what was added until the page was full. */
  #bytes = 0;

  get isFull(): boolean {
    return this.#bytes >= SNAPSHOT_PAGE_BYTES;
  }

  /** Adds a key, which must have a value, with all its fields. */
  add(key: string, { value, version, expiresAt }: KeyEntry): void {
    if (value === undefined) return;
    const isHash = value instanceof Hash;
    const facts = { key, version, value: isHash ? value.generation : value, expiresAt };
    const fields = isHash ? value.copy() : undefined;
    this.#keys.push({ ...facts, fields });
    this.#bytes += keyRecordBytes(facts);
    if (fields) this.#count(key, fields);
  }

  /** The keys that were added since the section before are a section. */
  endSection(head: Omit<Section, 'records'>): void {
    this.#sections.push({ head, keys: this.#keys });
    this.#keys = [];
    this.#bytes += SECTION_HEADER_BYTES;
  }

  /** @throws KvError ERR_RDMC_ENTRY_TOO_LARGE: a hash does not fit into a page */
  async encode(next: Place): Promise<Buffer> {
    const writer = new PageWriter();
    for (const { head, keys } of this.#sections) {
      const { isPieceFull, end } = writer.section(head);
      if (isPieceFull) await turn();
      for (const held of keys) {
        if (writer.key(held)) await turn();
        if (held.fields) await writeFields(writer, held.key, held.fields);
      }
      end();
    }
    return writer.end(next);
  }

  /** Fields beyond a full page are not counted: there may be millions. */
  #count(key: string, { names, entries }: HashCopy): void {
    for (let i = 0; i < names.length && !this.isFull; i += 1)
      this.#bytes += fieldRecordBytes(key.length, names[i]!.length, entries[i]!.value?.length ?? 0);
  }
}

async function writeFields(writer: PageWriter, key: string, { names, entries }: HashCopy): Promise<void> {
  for (let i = 0; i < names.length; i += 1) {
    const { value, version } = entries[i]!;
    if (value !== undefined && writer.field({ key, field: names[i]!, version, value })) await turn();
  }
}
