import { constants, openSync } from 'node:fs';
import type { CastProblem } from '../cast-summary.js';
import { CHUNK_BYTES, MODE_MASK, PULL_HASHES_IN_FRAME, PULL_PIECE_BYTES } from '../constants.js';
import { CastError, codeOf, messageOf } from '../errors.js';
import { type ManifestPiece, PieceEncoder } from '../manifest/piece-encoder.js';
import type { ProblemList } from '../problems.js';
import { timestamp } from '../reader/entries.js';
import type { FileIdentity, FileSource } from '../reader/file-source.js';
import { shown } from '../stream/paths.js';
import { HASH_BYTES, leafHash, rootHash } from './hash-tree.js';
import { digestOf } from './manifest-digest.js';
import { PieceMap } from './piece-map.js';
import type { ChangedFile } from './reader-orders.js';
import { type ServedEntry, ServedTree } from './served-tree.js';

const NOTHING = Buffer.alloc(0);

/** What is served under one name, as it was when the entries were hashed. */
export interface OriginFacts {
  readonly entries: number;
  readonly files: number;
  readonly directories: number;
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
  readonly kept: ServedEntry[];
  readonly hashes: Buffer[];
  /** Of the survey before. */
  readonly known: ReadonlyMap<string, Hashed>;
  readonly problems: ProblemList;
}

/** Hashes what is served under one name, and reads its pieces again, only as they were hashed. */
export class Origin {
  #map = new PieceMap();
  #hashes: Buffer = NOTHING;
  /** By number of the file in the map. */
  #files: { readonly source: Buffer; readonly identity: FileIdentity }[] = [];
  /** By path, as latin1: files that have not changed since an earlier survey are not hashed again. */
  #known = new Map<string, Hashed>();
  #open: { readonly file: number; readonly source: FileSource } | undefined;
  #tree: ServedTree | undefined;
  readonly #chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);

  constructor(private readonly directory: string) {}

  get map(): PieceMap {
    return this.#map;
  }

  /**
   * Lists and hashes everything below a name. The directory is opened again: another one may have its name.
   * @throws CastError as `ServedTree.list`; errors of the system, where the directory cannot be opened
   */
  survey(name: Buffer): OriginFacts {
    this.close();
    const tree = new ServedTree(openSync(this.directory, constants.O_RDONLY | constants.O_DIRECTORY));
    this.#tree = tree;
    const { entries, skipped, directories, problems } = tree.list(name);
    const known = this.#known;
    this.#known = new Map();
    this.#map = new PieceMap();
    this.#files = [];
    const kept: ServedEntry[] = [];
    const hashes: Buffer[] = [];
    for (const entry of entries) {
      if (entry.kind === 'directory') kept.push(entry);
      else this.#addFile(tree, entry, { kept, hashes, known, problems });
    }
    this.#hashes = Buffer.concat(hashes);
    const manifest = encoded(kept);
    return {
      ...{ entries: kept.length, files: kept.length - directories, directories, skipped, manifest },
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

  #addFile(tree: ServedTree, entry: ServedEntry, { kept, hashes, known, problems }: SurveyParts): void {
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
  #look(tree: ServedTree, { source }: ServedEntry, before: Hashed | undefined, problems: ProblemList) {
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

function encoded(entries: readonly ServedEntry[]): ManifestPiece[] {
  const pieces: ManifestPiece[] = [];
  let encoder = new PieceEncoder(0);
  for (const [index, { kind, path, mode, time, size }] of entries.entries()) {
    const entry = { kind, path, mode, time, size, target: NOTHING, targetIndex: 0, digest: undefined };
    if (encoder.add(entry)) continue;
    pieces.push(encoder.finish());
    encoder = new PieceEncoder(index);
    encoder.add(entry);
  }
  pieces.push(encoder.finish());
  return pieces;
}
