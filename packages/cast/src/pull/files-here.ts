import { closeSync } from 'node:fs';
import { PULL_PIECE_BYTES } from '../constants.js';
import { CastError } from '../errors.js';
import type { ManifestEntry } from '../manifest/manifest-entry.js';
import type { ComparisonKind } from '../manifest/policy.js';
import { blocksIn } from '../resume/journal.js';
import { KeptStore } from '../resume/kept-store.js';
import type { PartFile } from '../resume/part-file.js';
import type { StagedTree } from '../resume/staged-tree.js';
import { within } from '../writer/descriptor-paths.js';
import type { TemporaryDirectory } from '../writer/temporary-directory.js';
import { OlderForm } from './older-form.js';
import type { PieceList } from './piece-list.js';
import type { PiecedFile } from './piece-map.js';
import { readFully } from './read-fully.js';

/** What is found of the files of a list, for the store of their pieces. */
export interface FoundPieces {
  /** The file is here, as it should be. */
  unchanged(file: PiecedFile): void;
  /** The file is empty, and is not here. */
  empty(file: PiecedFile): void;
  /** An interrupted fetch or cast has left something of the file, which is now its incomplete file. */
  adopt(file: PiecedFile): void;
  /** A piece of that is as it should be. */
  hold(piece: number): void;
  /** A piece of an older form of the file. */
  put(piece: number, bytes: Buffer): void;
}

export interface FilesHereParts {
  /** Descriptor of the directory. */
  readonly root: number;
  readonly temporary: TemporaryDirectory;
  readonly tree: StagedTree;
  readonly list: PieceList;
  readonly compare: ComparisonKind;
  /** Whether what interrupted fetches and casts have left is used. */
  readonly mayTake: boolean;
  /** Whether everything that is taken is on disk. */
  readonly durable: boolean;
  /** Called after each step. */
  readonly step: () => void;
  readonly found: FoundPieces;
}

/**
 * Finds what is in a directory of the files of a list: unchanged files, and pieces of older forms; and complete and partial
 * files that interrupted fetches and casts have left. Of partial files, only pieces with the hashes of the list count.
 */
export class FilesHere {
  unchangedFiles = 0;
  unchangedBytes = 0;
  /** Bytes of pieces that were taken from older forms. */
  keptBytes = 0;
  /** Bytes that interrupted fetches and casts had left, in complete files and in partial ones. */
  resumedBytes = 0;
  readonly #timeUnitNs: bigint;
  /** By number of the file in the map. */
  readonly #parts = new Map<number, PartFile>();
  readonly #chunk = Buffer.allocUnsafeSlow(PULL_PIECE_BYTES);

  constructor(private readonly parts: FilesHereParts) {
    this.#timeUnitNs = parts.temporary.timeUnitNs();
  }

  /** Moves what is left to its place, and makes room for the rest. @throws CastError ERR_RDMC_NO_SPACE */
  takeLeft(): void {
    const { root, temporary, list, mayTake, durable, compare, step } = this.parts;
    const store = new KeptStore(root, temporary.descriptor, { mayTake, mayTrust: false, durable });
    try {
      let neededBytes = 0;
      for (const [number, { entry, size }] of list.map.files.entries()) {
        step();
        const wanted = list.entries[entry]!;
        const isHere = compare !== 'none' && this.#olderOf(wanted)?.isLike(wanted, this.#timeUnitNs) === true;
        if (isHere || this.#takeFile(store, wanted)) continue;
        const part = store.takePart(wanted);
        if (part) this.#parts.set(number, part);
        neededBytes += Math.max(0, size - (part?.diskBytes ?? 0));
      }
      makeRoom(store, neededBytes);
    } finally {
      store.close();
    }
  }

  /** Looks what is here of a file. @param number its number in the map */
  look(number: number): void {
    const { list, compare, found } = this.parts;
    const file = list.map.files[number]!;
    const wanted = list.entries[file.entry]!;
    const older = compare === 'none' ? undefined : this.#olderOf(wanted);
    const isLike = older?.isLike(wanted, this.#timeUnitNs) === true;
    if (isLike && (compare === 'size-time' || this.#isEqual(older, file))) {
      this.unchangedFiles += 1;
      this.unchangedBytes += file.size;
      found.unchanged(file);
    } else if (file.pieces === 0) found.empty(file);
    else {
      const part = this.#parts.get(number);
      if (part) this.#holdPieces(part, file);
      if (older) this.#takeFrom(older, file);
    }
  }

  #olderOf({ path }: ManifestEntry): OlderForm | undefined {
    return OlderForm.at(this.parts.tree, path);
  }

  /** Gives a complete file its name, where one of the same size and time is left, and nothing has that name. */
  #takeFile(store: KeptStore, wanted: ManifestEntry): boolean {
    if (store.isEmpty || this.#olderOf(wanted)) return false;
    const isTaken = store.takeFile(
      wanted.path,
      (place, stats) => new OlderForm(place, stats).isOfSameTime(wanted, this.#timeUnitNs),
      () => {
        const { directory, name } = this.parts.tree.place(wanted.path);
        return within(directory, name);
      },
    );
    if (isTaken) this.resumedBytes += wanted.size;
    return isTaken;
  }

  /** Finds the pieces of a partial file: those in the ranges of its journal that have the hashes of the list. */
  #holdPieces(part: PartFile, file: PiecedFile): void {
    this.parts.found.adopt(file);
    const descriptor = part.open();
    if (descriptor === undefined) return;
    const journaled = blocksIn(part.ranges, file.size, PULL_PIECE_BYTES);
    try {
      for (let number = 0; number < file.pieces; number += 1) {
        if (!journaled.has(number)) continue;
        const bytes = this.#pieceAt(file, number, (target, at) => readFully(descriptor, target, at));
        if (!bytes) continue;
        this.resumedBytes += bytes.length;
        this.parts.found.hold(file.first + number);
      }
    } finally {
      closeSync(descriptor);
    }
  }

  /** Whether the older form has the same contents. */
  #isEqual(older: OlderForm, file: PiecedFile): boolean {
    let equal = 0;
    this.#eachEqual(older, file, () => {
      equal += 1;
    });
    return equal === file.pieces;
  }

  /** Copies the pieces that an older form has at the same offsets. */
  #takeFrom(older: OlderForm, file: PiecedFile): void {
    this.#eachEqual(older, file, (piece, bytes) => {
      this.keptBytes += bytes.length;
      this.parts.found.put(piece, bytes);
    });
  }

  #eachEqual(older: OlderForm, file: PiecedFile, use: (piece: number, bytes: Buffer) => void): void {
    const source = older.open();
    if (!source) return;
    try {
      for (let number = 0; number < file.pieces; number += 1) {
        const bytes = this.#pieceAt(file, number, (target, at) => source.read(target, at));
        if (bytes) use(file.first + number, bytes);
      }
    } finally {
      source.close();
    }
  }

  /** The bytes of a piece, in memory that is used again; undefined where they are not those of the list. */
  #pieceAt(
    { first }: PiecedFile,
    number: number,
    read: (target: Buffer, offset: number) => boolean,
  ): Buffer | undefined {
    const { list, step } = this.parts;
    step();
    const piece = first + number;
    const bytes = this.#chunk.subarray(0, list.map.bytesOf(piece));
    return read(bytes, number * PULL_PIECE_BYTES) && list.isPiece(piece, bytes) ? bytes : undefined;
  }
}

/** Removes leftovers, the oldest first, until there is room. @throws CastError ERR_RDMC_NO_SPACE */
function makeRoom(store: KeptStore, neededBytes: number): void {
  const { freeBytes } = store;
  if (neededBytes > freeBytes) {
    const message = `the directory has ${freeBytes} bytes free, but ${neededBytes} are needed; make room there`;
    throw new CastError('ERR_RDMC_NO_SPACE', message);
  }
  store.makeRoom(neededBytes);
}
