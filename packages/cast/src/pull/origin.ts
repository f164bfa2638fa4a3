import type { CastProblem } from '../cast-summary.js';
import { CHUNK_BYTES, MODE_MASK, PULL_HASHES_IN_FRAME, PULL_PIECE_BYTES } from '../constants.js';
import { CastError, codeOf, messageOf } from '../errors.js';
import type { ManifestEntry } from '../manifest/manifest-entry.js';
import { type ManifestPiece, PieceEncoder } from '../manifest/piece-encoder.js';
import type { ProblemList } from '../problems.js';
import { timestamp } from '../reader/entries.js';
import type { FileIdentity, FileSource } from '../reader/file-source.js';
import { shown } from '../stream/paths.js';
import { HASH_BYTES, leafHash, rootHash } from './hash-tree.js';
import { digestOf } from './manifest-digest.js';
import type { OfferedEntry, OfferedTree } from './offered-tree.js';
import { PieceMap } from './piece-map.js';
import type { ChangedFile } from './reader-orders.js';

/** What is offered, as it was when the entries were hashed. */
export interface OriginFacts {
  readonly entries: number;
  readonly files: number;
  readonly directories: number;
  /** Symbolic and hard links. */
  readonly links: number;
  readonly bytes: number;
  readonly pieces: number;
  /** Hexadecimal; see `hash-tree.ts`. */
  readonly root: string;
  readonly skipped: number;
  readonly problems: readonly CastProblem[];
  readonly problemCount: number;
  /** The manifest, as it is sent. */
  readonly manifest: readonly ManifestPiece[];
  /** Bytes of each piece. */
  readonly costs: Float64Array;
}

interface Hashed {
  readonly identity: FileIdentity;
  readonly hashes: Buffer;
}

/** What a survey has found so far. */
interface SurveyParts {
  readonly kept: OfferedEntry[];
  readonly hashes: Buffer[];
  /** Of the survey before. */
  readonly known: ReadonlyMap<string, Hashed>;
  readonly problems: ProblemList;
}

/** Hashes what is offered, and reads its pieces again, only as they were hashed. */
export class Origin {
  #map = new PieceMap();
  #hashes: Buffer = Buffer.alloc(0);
  /** By number of the file in the map. */
  #files: { readonly source: Buffer; readonly identity: FileIdentity }[] = [];
  /** By path, as latin1: files that have not changed since an earlier survey are not hashed again. */
  #known = new Map<string, Hashed>();
  #open: { readonly file: number; readonly source: FileSource } | undefined;
  #tree: OfferedTree | undefined;
  readonly #chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);

  get map(): PieceMap {
    return this.#map;
  }

  /**
   * Lists and hashes everything in a tree, which the origin then owns.
   * @throws CastError as `OfferedTree.list`
   */
  survey(tree: OfferedTree): OriginFacts {
    this.close();
    this.#tree = tree;
    const { entries, skipped, problems } = tree.list();
    const known = this.#known;
    this.#known = new Map();
    this.#map = new PieceMap();
    this.#files = [];
    const parts = { kept: [] as OfferedEntry[], hashes: [] as Buffer[], known, problems };
    const { kept, hashes } = parts;
    /** New indices, by those in the listing: files that cannot be read are left out. */
    const indices = new Map<number, number>();
    for (const [index, entry] of entries.entries()) {
      const at = kept.length;
      if (entry.kind === 'file') this.#addFile(tree, entry, parts);
      else if (entry.kind === 'hardLink') addHardLink(entry, indices.get(entry.targetIndex), parts);
      else kept.push(entry);
      if (kept.length > at) indices.set(index, at);
    }
    this.#hashes = Buffer.concat(hashes);
    const manifest = encoded(kept);
    const directories = kept.filter(({ kind }) => kind === 'directory').length;
    const files = kept.filter(({ kind }) => kind === 'file').length;
    return {
      ...{ entries: kept.length, files, directories, links: kept.length - files - directories },
      ...{ skipped, manifest },
      bytes: kept.reduce((sum, { size }) => sum + size, 0),
      pieces: this.#map.count,
      root: rootHash(digestOf(manifest), this.#hashes).toString('hex'),
      problems: problems.kept,
      problemCount: problems.count,
      costs: this.#map.costs(),
    };
  }

  /** Hashes of pieces from `first` on, as many as a frame has. */
  hashes(first: number): Buffer {
    return this.#hashes.subarray(first * HASH_BYTES, (first + PULL_HASHES_IN_FRAME) * HASH_BYTES);
  }

  /**
   * Reads a piece to the beginning of `target`. Returns the entry that it is of where that file has changed since it was
   * hashed, or cannot be read any more, with the reason.
   */
  read(piece: number, target: Buffer): ChangedFile | undefined {
    const { entry, first, pieces } = this.#map.fileOf(piece);
    const bytes = target.subarray(0, this.#map.bytesOf(piece));
    try {
      const { source, identity } = this.#source(piece);
      const isThere = source.read(bytes, this.#map.offsetOf(piece)) && source.is(identity);
      const expected = this.#hashes.subarray(piece * HASH_BYTES, (piece + 1) * HASH_BYTES);
      if (isThere && leafHash(bytes).equals(expected)) return undefined;
      return { entry, first, pieces, message: 'it changed after the server had listed it; fetch it again' };
    } catch (error) {
      return { entry, first, pieces, message: `the server cannot read it any more: ${messageOf(error)}` };
    }
  }

  /** Nothing is read until the next survey. */
  close(): void {
    this.#closeFile();
    this.#tree?.close();
    this.#tree = undefined;
  }

  #closeFile(): void {
    this.#open?.source.close();
    this.#open = undefined;
  }

  #source(piece: number): { readonly source: FileSource; readonly identity: FileIdentity } {
    const file = this.#map.fileNumber(piece);
    const { source, identity } = this.#files[file]!;
    if (this.#open?.file !== file) {
      this.#closeFile();
      this.#open = { file, source: this.#tree!.open(source) };
    }
    return { source: this.#open.source, identity };
  }

  #addFile(tree: OfferedTree, entry: OfferedEntry, { kept, hashes, known, problems }: SurveyParts): void {
    const key = entry.source.toString('latin1');
    const found = this.#look(tree, entry, known.get(key), problems);
    if (!found) return;
    const { hashed, time, mode } = found;
    const { size } = hashed.identity;
    this.#map.add(kept.length, size);
    this.#known.set(key, hashed);
    this.#files.push({ source: entry.source, identity: hashed.identity });
    hashes.push(hashed.hashes);
    kept.push({ ...entry, size, time, mode });
  }

  /** Hashes a file, unless it is as it was before. Undefined where it has a problem. */
  #look(tree: OfferedTree, { source }: OfferedEntry, before: Hashed | undefined, problems: ProblemList) {
    let file: FileSource | undefined;
    try {
      file = tree.open(source);
      const { mtimeNs, mode } = file.stats;
      return {
        hashed: this.#hashed(file, before),
        time: timestamp(mtimeNs),
        mode: Number(mode) & MODE_MASK,
      };
    } catch (error) {
      const code = error instanceof CastError ? error.code : 'ERR_RDMC_UNREADABLE';
      const message = codeOf(error) === 'ENOENT' ? 'it was removed' : messageOf(error);
      problems.add({ path: shown(source), code, message });
      return undefined;
    } finally {
      file?.close();
    }
  }

  /** @throws CastError ERR_RDMC_FILE_CHANGED; errors of the system */
  #hashed(file: FileSource, before: Hashed | undefined): Hashed {
    if (before && file.is(before.identity)) return before;
    const { identity } = file;
    const hashes = this.#hashesOf(file, identity.size);
    if (hashes && file.is(identity)) return { identity, hashes };
    throw new CastError('ERR_RDMC_FILE_CHANGED', 'it changed while the server hashed it; fetch it again');
  }

  /** Undefined where the file became shorter. */
  #hashesOf(file: FileSource, size: number): Buffer | undefined {
    const hashes: Buffer[] = [];
    for (let at = 0; at < size; at += PULL_PIECE_BYTES) {
      const piece = this.#chunk.subarray(0, Math.min(PULL_PIECE_BYTES, size - at));
      if (!file.read(piece, at)) return undefined;
      hashes.push(leafHash(piece));
    }
    return Buffer.concat(hashes);
  }
}

/** @param targetIndex undefined where its file cannot be read */
function addHardLink(
  entry: OfferedEntry,
  targetIndex: number | undefined,
  { kept, problems }: SurveyParts,
): void {
  if (targetIndex !== undefined) kept.push({ ...entry, targetIndex });
  else {
    const message = 'the file it is linked to could not be read';
    problems.add({ path: shown(entry.path), code: 'ERR_RDMC_LINK_TARGET_MISSING', message });
  }
}

function encoded(entries: readonly OfferedEntry[]): ManifestPiece[] {
  const pieces: ManifestPiece[] = [];
  let encoder = new PieceEncoder(0);
  for (const [index, entry] of entries.entries()) {
    const described = manifestEntry(entry, entries);
    if (encoder.add(described)) continue;
    pieces.push(encoder.finish());
    encoder = new PieceEncoder(index);
    encoder.add(described);
  }
  pieces.push(encoder.finish());
  return pieces;
}

function manifestEntry(
  { kind, path, mode, time, size, target, targetIndex }: OfferedEntry,
  entries: readonly OfferedEntry[],
): ManifestEntry {
  const pointed = kind === 'hardLink' ? entries[targetIndex]!.path : target;
  return { kind, path, mode, time, size, target: pointed, targetIndex, digest: undefined };
}
