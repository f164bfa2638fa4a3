import { chmodSync, closeSync, constants, fsyncSync, ftruncateSync, openSync, unlinkSync } from 'node:fs';
import { DELTA_FILE_BYTES, MODE_MASK } from '../constants.js';
import { codeOf } from '../errors.js';
import { UNKNOWN_SIZE } from '../stream/layout.js';
import type { FileBeginRecord } from '../stream/records.js';
import { within } from '../writer/descriptor-paths.js';
import { journalName, partName } from './names.js';
import type { PartFile } from './part-file.js';
import { partIdentity } from './part-identity.js';
import { PartialJournal } from './partial-journal.js';

const NEW_FLAGS = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const OLD_FLAGS = constants.O_RDWR | constants.O_NOFOLLOW;
const OWNER_ONLY = 0o600;

/** The temporary file that a file of the cast is written to. */
export interface SinkTarget {
  readonly path: Buffer;
  readonly descriptor: number;
  /** Undefined where an interrupted cast leaves nothing of it. */
  readonly journal: PartialJournal | undefined;
  /** Bytes that an interrupted cast has left at its beginning; some ranges of them may be wrong. */
  readonly existingBytes: number;
  /** Directories that are synced with the journal, so that a later cast finds it after a power cut. */
  readonly directories: readonly number[];
}

/** The temporary directory of a cast. */
interface Temporary {
  readonly descriptor: number;
  file(index: number): Buffer;
}

/** How an interrupted cast keeps partial files. */
export interface Keeping {
  /** Whether messages are authenticated one by one. */
  readonly authenticated: boolean;
  /** Whether files are synced. */
  readonly durable: boolean;
  /** Descriptor of the receiving directory. */
  readonly root: number;
}

/** Gives files of a cast their temporary files. */
export class SinkTargets {
  constructor(
    private readonly temporary: Temporary,
    /** Undefined where an interrupted cast leaves nothing. */
    private readonly keeping: Keeping | undefined,
  ) {}

  /** @param part what an interrupted cast has left of it @throws errors of the system */
  open(begin: FileBeginRecord, part: PartFile | undefined): SinkTarget {
    const isKept = this.keeping && begin.size >= DELTA_FILE_BYTES && begin.size !== UNKNOWN_SIZE;
    if (isKept) return part ? this.#resumed(begin, part) : this.#partial(begin);
    const path = this.temporary.file(begin.index);
    // Other users cannot open it before it has its name: the temporary directory has mode 700.
    const descriptor = openSync(path, NEW_FLAGS, begin.mode & MODE_MASK);
    return { path, descriptor, journal: undefined, existingBytes: 0, directories: [] };
  }

  #partial(begin: FileBeginRecord): SinkTarget {
    const identity = partIdentity(begin);
    const path = within(this.temporary.descriptor, partName(begin.path));
    return this.#journaled(identity, begin, { path, descriptor: openSync(path, NEW_FLAGS, OWNER_ONLY) }, []);
  }

  /** Continues a partial file; without usable ranges, from its beginning. */
  #resumed(begin: FileBeginRecord, part: PartFile): SinkTarget {
    const ranges = part.heldRanges;
    const last = ranges.at(-1);
    if (!last) {
      removeIfThere(part.place);
      return this.#partial(begin);
    }
    // It may have got the mode of the file.
    chmodSync(part.place, OWNER_ONLY);
    const file = { path: part.place, descriptor: openSync(part.place, OLD_FLAGS) };
    return this.#journaled(part.identity, begin, file, ranges);
  }

  #journaled(
    identity: Buffer,
    begin: FileBeginRecord,
    file: { readonly path: Buffer; readonly descriptor: number },
    ranges: PartFile['heldRanges'],
  ): SinkTarget {
    const { authenticated, durable, root } = this.keeping!;
    const path = within(this.temporary.descriptor, journalName(begin.path));
    const existingBytes = ranges.at(-1)?.end ?? 0;
    try {
      // Behind its ranges may be anything; a hole at its end may be missing.
      if (existingBytes > 0) ftruncateSync(file.descriptor, existingBytes);
      if (existingBytes > 0 && durable) fsyncSync(file.descriptor);
      const journal = new PartialJournal(path, { identity, size: begin.size, authenticated }, ranges);
      return { ...file, journal, existingBytes, directories: [this.temporary.descriptor, root] };
    } catch (error) {
      closeSync(file.descriptor);
      throw error;
    }
  }
}

function removeIfThere(path: Buffer): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}
