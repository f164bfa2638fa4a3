import { CHUNK_BYTES, ENTRY_COST_BYTES } from '../constants.js';
import type { ContentComparison } from '../manifest/content-comparison.js';
import type { ManifestEntry } from '../manifest/manifest-entry.js';
import { type ManifestPiece, PieceEncoder } from '../manifest/piece-encoder.js';
import { shown } from '../stream/paths.js';
import type { Entry, FileEntry } from './entries.js';
import type { FileSource } from './file-source.js';
import { openFile } from './open-file.js';
import type { EntryFacts } from './orders.js';

const NOTHING = Buffer.alloc(0);

/** A piece of the manifest, and whether it is the last one. It may be empty where nothing is cast. */
export interface NextPiece {
  readonly piece: ManifestPiece;
  readonly isLast: boolean;
}

/** Describes the entries of a cast: to receivers in pieces of the manifest, and to people. */
export class ManifestReader {
  #chunk: Buffer | undefined;
  /** The entry that did not fit into the last piece: its file need not be read again. */
  #last: { readonly index: number; readonly entry: ManifestEntry } | undefined;

  constructor(
    private readonly entries: readonly Entry[],
    /** Undefined where contents are not compared. */
    private readonly contents: ContentComparison | undefined,
    /** Lists entries until there are that many; returns false where there are fewer (default: all are listed). */
    private readonly advance = (count: number): boolean => count <= entries.length,
  ) {}

  /** The piece that begins with entry `first`. */
  piece(first: number): NextPiece {
    const encoder = new PieceEncoder(first);
    for (let index = first; this.advance(index + 1); index += 1) {
      const entry = this.#last?.index === index ? this.#last.entry : this.#describe(index);
      if (encoder.add(entry)) continue;
      this.#last = { index, entry };
      break;
    }
    const piece = encoder.finish();
    return { piece, isLast: !this.advance(first + piece.count + 1) };
  }

  /** What it costs to send each entry to one receiver, in bytes. */
  costs(): Float64Array {
    return Float64Array.from(this.entries, (entry) => {
      return ENTRY_COST_BYTES + (entry.kind === 'file' ? entry.contentBytes : 0);
    });
  }

  facts(indices: Uint32Array): EntryFacts[] {
    return Array.from(indices, (index) => {
      const entry = this.entries[index]!;
      const kind = entry.kind === 'file' || entry.kind === 'directory' ? entry.kind : 'link';
      return {
        path: shown(entry.path, Number.POSITIVE_INFINITY),
        kind,
        bytes: entry.kind === 'file' ? entry.size : 0,
      };
    });
  }

  /** The objects have the same fields in the same order, and are not spread: this runs once for each entry. */
  #describe(index: number): ManifestEntry {
    const entry = this.entries[index]!;
    const { kind, path } = entry;
    if (entry.kind === 'hardLink') {
      const { targetIndex } = entry;
      const { time, path: target } = this.entries[targetIndex] as FileEntry;
      return {
        kind,
        path,
        mode: 0,
        time,
        size: 0,
        target,
        targetIndex,
        digest: undefined,
        attributes: undefined,
      };
    }
    const { time, attributes } = entry;
    if (entry.kind === 'symbolicLink') {
      const { target } = entry;
      return { kind, path, mode: 0, time, size: 0, target, targetIndex: 0, digest: undefined, attributes };
    }
    const { mode } = entry;
    const size = entry.kind === 'file' ? entry.size : 0;
    const digest = entry.kind === 'file' ? this.#digest(entry, index) : undefined;
    return { kind, path, mode, time, size, target: NOTHING, targetIndex: 0, digest, attributes };
  }

  /** Undefined where the file cannot be read, or has changed: then it is sent, and fails there for a named reason. */
  #digest(entry: FileEntry, index: number): Buffer | undefined {
    if (!this.contents) return undefined;
    let file: FileSource | undefined;
    try {
      file = openFile(entry);
      const { identity } = file;
      const digest = this.contents.digest(index);
      this.#chunk ??= Buffer.allocUnsafe(CHUNK_BYTES);
      for (let at = 0; at < entry.size; at += CHUNK_BYTES) {
        const chunk = this.#chunk.subarray(0, Math.min(CHUNK_BYTES, entry.size - at));
        if (!file.read(chunk, at)) return undefined;
        digest.update(chunk);
      }
      const isSame = identity.size === entry.size && file.is(identity);
      return isSame ? digest.digest() : undefined;
    } catch {
      return undefined;
    } finally {
      file?.close();
    }
  }
}
