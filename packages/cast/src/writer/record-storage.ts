import { protocolError } from '../errors.js';
import type { StagedTree } from '../resume/staged-tree.js';
import { FileStatus } from '../stream/layout.js';
import type {
  DirectoryRecord,
  FileBeginRecord,
  FileEndRecord,
  HardLinkRecord,
  StreamRecord,
  SymbolicLinkRecord,
} from '../stream/records.js';
import type { Commits } from './commits.js';
import type { Comparison } from './comparison.js';
import type { DeferredEntries } from './deferred-entries.js';
import type { FileAssembler } from './file-assembler.js';
import type { Outcomes } from './outcomes.js';
import type { EntryKinds, StreamOrder } from './stream-order.js';

export interface StorageParts {
  readonly tree: StagedTree;
  readonly outcomes: Outcomes;
  readonly files: FileAssembler;
  readonly deferred: DeferredEntries;
  /** Undefined where entries were not compared: then every entry of the stream is stored. */
  readonly comparison: Comparison | undefined;
  readonly order: StreamOrder;
  readonly commits: Commits;
}

/** Stores the records of the streams of one cast. */
export class RecordStorage {
  /** Names without a directory in the streams, as latin1; the manifest has them where there is one. */
  readonly roots = new Set<string>();

  constructor(private readonly parts: StorageParts) {}

  /**
   * Stores the next record. A CHECK is for receivers that pass bytes on; here the digest of each file decides.
   * @throws CastError where nothing more can be stored
   */
  take(record: StreamRecord): void {
    const { files, order } = this.parts;
    // Behind the end of a stream, too.
    if (record.type !== 'check') order.record();
    if (record.type === 'data' || record.type === 'packed') files.data(record);
    else if (record.type === 'hole') files.hole(record);
    else if (record.type === 'keep') files.keep(record);
    else if (record.type === 'fileEnd') this.#fileEnd(record);
    else if (record.type === 'fileBegin') this.#fileBegin(record);
    else if (record.type === 'directory') this.#directory(record);
    else if (record.type === 'symbolicLink') this.#symbolicLink(record);
    else if (record.type === 'hardLink') this.#hardLink(record);
    else if (record.type === 'streamEnd') order.end(record, files.openIndex);
  }

  #newEntry({ index, path }: { readonly index: number; readonly path: Buffer }, kind: EntryKinds): void {
    this.parts.order.entry(index, kind, this.parts.files.openIndex);
    if (!path.includes(0x2f)) this.roots.add(path.toString('latin1'));
  }

  #directory(record: DirectoryRecord): void {
    const { comparison, commits, outcomes, tree, deferred } = this.parts;
    this.#newEntry(record, 'directories');
    if (comparison?.isWantedDirectory(record.index) === false) return;
    const directory = { ...record, path: Buffer.from(record.path) };
    commits.other(() => {
      outcomes.attempt(directory.index, directory.path, () => {
        tree.open(directory.path);
        deferred.directory(directory);
      });
    });
  }

  #fileBegin(record: FileBeginRecord): void {
    this.#newEntry(record, 'files');
    this.parts.files.begin(record, this.#isWanted(record.index));
  }

  /** The FILE_END of a file that was given up may be repeated, or come without a beginning: see `layout.ts`. */
  #fileEnd(record: FileEndRecord): void {
    const { files, order, outcomes } = this.parts;
    const { index, status } = record;
    if (files.end(record)) return;
    if (status === FileStatus.WHOLE || files.openIndex !== undefined) {
      throw protocolError(`entry ${index} ends, but is not open`);
    }
    if (order.hasReached(index)) return;
    order.entry(index, 'files', undefined);
    outcomes.missing.add(index);
  }

  #symbolicLink(record: SymbolicLinkRecord): void {
    this.#newEntry(record, 'symbolicLinks');
    if (this.#isWanted(record.index)) this.parts.deferred.symbolicLink(record);
  }

  #hardLink(record: HardLinkRecord): void {
    this.#newEntry(record, 'hardLinks');
    if (this.#isWanted(record.index)) this.parts.deferred.hardLink(record);
  }

  /** Whether this receiver stores the entry; else it is in the stream for other receivers. */
  #isWanted(index: number): boolean {
    return this.parts.comparison?.isWanted(index) ?? true;
  }
}
