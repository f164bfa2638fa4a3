import type { ToldAttributes } from '../archive/told-attributes.js';
import type { Checksum } from '../checksum.js';
import type { Codec } from '../compression/codec.js';
import { type PackerState, PiecePacker } from '../compression/piece-packer.js';
import { KEPT_MESSAGE_BYTES, MODE_MASK, PACKED_MESSAGE_BYTES } from '../constants.js';
import { codeOf, messageOf } from '../errors.js';
import { ProblemList } from '../problems.js';
import { CHECK_RECORD_BYTES, FileStatus, REPLAY_SLACK_BYTES } from '../stream/layout.js';
import type { MessageChecks } from '../stream/message-check.js';
import { MessageEncoder } from '../stream/message-encoder.js';
import { shown } from '../stream/paths.js';
import type { SentBlocks } from './block-reader.js';
import { type Entry, type FileEntry, inSource, timestamp } from './entries.js';
import { type FileFacts, isAbandoned, NO_DIGEST, runAt } from './file-facts.js';
import { fillData, fillKept, fillSparse } from './file-filler.js';
import { FileHash } from './file-hash.js';
import { type FileSource, isSameIdentity, type ReadHook } from './file-source.js';
import type { FilledMessage, MessageSource } from './message-source.js';
import { changed, checkCompared, checkTold, OpenSource } from './open-source.js';
import { fillPacked } from './packed-filler.js';
import { BEGIN, isBefore, type Position } from './position.js';
import { Selected } from './selection.js';
import { SentFiles } from './sent-files.js';
import { Totals } from './totals.js';

const NO_BYTES = { contentBytes: 0, keptBytes: 0 };

export interface StreamReaderOptions {
  readonly hook?: ReadHook | undefined;
  /** A byte of `Selected` for each entry (default: all entries are in the stream). */
  readonly selection?: Uint8Array | undefined;
  /** Files that could not be sent completely; shared by the streams of a cast. */
  readonly missing?: Set<number>;
  /** What is sent of files of which receivers have older ones (default: everything). */
  readonly blocks?: ReadonlyMap<number, SentBlocks>;
  /** Counts the files of all streams of a cast. */
  readonly sent?: SentFiles;
  /** Where a receiver checks messages by themselves; shared by the streams of a cast. */
  readonly checks?: MessageChecks | undefined;
  /** In an archive cast: what is told about entries. */
  readonly told?: ToldAttributes | undefined;
  /** How contents are compressed (default: not). */
  readonly codec?: Codec | undefined;
}

/**
 * Fills the messages of a cast from its entries. A message can be filled again; a new one must be the next in sequence.
 * A message that is filled again has the same entries, so that members that have it already can drop it; except that
 * files which changed meanwhile are given up.
 */
export class StreamReader implements MessageSource {
  readonly problems = new ProblemList();
  readonly totals = new Totals();
  /** Where each message begins; the last position is where the next new message begins. */
  readonly #starts: Position[] = [{ entry: 0, offset: BEGIN }];
  readonly #contentBytes: number[] = [0];
  #keptBytes = 0;
  /** By compression. */
  #savedBytes = 0;
  readonly #facts = new Map<number, FileFacts>();
  /** Entries without a record in the stream. */
  readonly #skipped = new Set<number>();
  readonly #hash: FileHash;
  readonly #selection: Uint8Array | undefined;
  readonly #missing: Set<number>;
  readonly #blocks: ReadonlyMap<number, SentBlocks>;
  readonly #sent: SentFiles;
  readonly #checks: MessageChecks | undefined;
  readonly #told: ToldAttributes | undefined;
  readonly #packer: PiecePacker | undefined;
  /** By message: the state of the packer at its beginning, so that a message that is filled again is compressed as before. */
  readonly #packed: PackerState[] = [];
  #forgottenBelow = 0;
  #ended = false;
  readonly #source: OpenSource;

  constructor(
    private readonly entries: readonly Entry[],
    checksum: Checksum,
    {
      hook,
      selection,
      missing = new Set(),
      blocks = new Map(),
      sent = new SentFiles(entries.length),
      checks,
      told,
      codec,
    }: StreamReaderOptions = {},
  ) {
    this.#hash = new FileHash(checksum);
    this.#source = new OpenSource(hook);
    this.#selection = selection;
    this.#missing = missing;
    this.#blocks = blocks;
    this.#sent = sent;
    this.#checks = checks;
    this.#told = told;
    if (codec) {
      this.#packer = new PiecePacker(codec);
      this.#packed.push(this.#packer.state);
    }
  }

  /** Bytes of file contents in all messages so far. */
  get contentBytes(): number {
    return this.#contentBytes.at(-1)!;
  }

  /** The same, as they are in the messages. */
  get packedBytes(): number {
    return this.contentBytes - this.#savedBytes;
  }

  /** Number of messages, once the stream has been read to its end. */
  get messages(): number | undefined {
    return this.#ended ? this.#starts.length - 1 : undefined;
  }

  /** Writes message `sequence` to the beginning of `target`. All messages have the capacity of `target`. */
  fill(sequence: number, target: Buffer): FilledMessage {
    const { messages } = this;
    if (messages !== undefined && sequence >= messages) {
      return { bytes: 0, last: true, contentBytes: this.contentBytes, keptBytes: this.#keptBytes };
    }
    const start = this.#starts[sequence];
    if (start === undefined)
      throw new RangeError(`message ${sequence} cannot be filled before message ${sequence - 1}`);
    const known = this.#starts[sequence + 1];
    const packer = this.#packer;
    if (packer) packer.state = this.#packed[sequence] ?? packer.state;
    const room = target.length - (this.#checks ? CHECK_RECORD_BYTES : 0);
    const encoder = new MessageEncoder(target, room - (known ? 0 : REPLAY_SLACK_BYTES));
    const saved = packer?.savedBytes ?? 0;
    const { position, contentBytes, keptBytes } = this.#run(encoder, target, start, known);
    if (known === undefined) {
      this.#savedBytes += (packer?.savedBytes ?? 0) - saved;
      if (packer) this.#packed[sequence + 1] = packer.state;
      this.#starts.push(position);
      this.#contentBytes.push(this.contentBytes + contentBytes);
      this.#keptBytes += keptBytes;
    }
    this.#checks?.add(encoder, target, sequence);
    return {
      bytes: encoder.finish(sequence),
      last: sequence + 1 === this.messages,
      contentBytes: this.#contentBytes[sequence + 1]!,
      keptBytes: this.#keptBytes,
    };
  }

  /** Messages before this one will not be requested again. */
  forget(sequence: number): void {
    const entry = this.#starts[Math.min(sequence, this.#starts.length - 1)]!.entry;
    for (; this.#forgottenBelow < entry; this.#forgottenBelow += 1) this.#facts.delete(this.#forgottenBelow);
  }

  close(): void {
    this.#source.close();
    for (const { root, parent } of this.entries) if (parent === -1) root.tree.close();
  }

  #run(encoder: MessageEncoder, target: Buffer, start: Position, limit: Position | undefined) {
    let position = start;
    let contentBytes = 0;
    let keptBytes = 0;
    while (limit === undefined || isBefore(position, limit)) {
      const entry = this.entries[position.entry];
      if (entry === undefined) {
        if (!encoder.streamEnd(this.totals)) break;
        this.#ended = true;
        position = { entry: position.entry + 1, offset: BEGIN };
        break;
      }
      if (this.#selection?.[position.entry] === Selected.NO) {
        position = { entry: position.entry + 1, offset: BEGIN };
        continue;
      }
      const step =
        entry.kind === 'file'
          ? this.#file(encoder, target, entry, position, limit)
          : this.#other(encoder, entry, position, limit === undefined);
      if (step === undefined) break;
      contentBytes += step.contentBytes;
      keptBytes += step.keptBytes;
      position = step.position;
      if (step.full || keptBytes >= KEPT_MESSAGE_BYTES) break;
      if (this.#packer && contentBytes >= PACKED_MESSAGE_BYTES) break;
    }
    if (limit !== undefined && isBefore(position, limit)) {
      throw changed('files changed and no longer fit into the messages that they were sent in; cast again');
    }
    return { position, contentBytes, keptBytes };
  }

  #other(
    encoder: MessageEncoder,
    entry: Exclude<Entry, FileEntry>,
    { entry: index }: Position,
    first: boolean,
  ) {
    if (first && entry.kind === 'hardLink' && this.#missing.has(entry.targetIndex)) {
      this.#problem(entry, 'ERR_RDMC_LINK_TARGET_MISSING', 'the file it is linked to could not be sent');
      this.#skipped.add(index);
    }
    if (this.#skipped.has(index)) return next(index);
    const written =
      entry.kind === 'directory'
        ? encoder.directory({ index, mode: entry.mode, time: entry.time, path: entry.path })
        : entry.kind === 'symbolicLink'
          ? encoder.symbolicLink({ index, time: entry.time, path: entry.path, target: entry.target })
          : encoder.hardLink({
              index,
              targetIndex: entry.targetIndex,
              path: entry.path,
              targetPath: this.entries[entry.targetIndex]!.path,
            });
    if (!written) return undefined;
    if (first) this.totals.count(entry.kind);
    return next(index);
  }

  /** Writes one record of a file: its beginning, data, or its end. Undefined where the message has no room for it. */
  #file(
    encoder: MessageEncoder,
    target: Buffer,
    entry: FileEntry,
    position: Position,
    limit: Position | undefined,
  ) {
    const { entry: index, offset } = position;
    const facts = this.#facts.get(index) ?? this.#openFirst(entry, index);
    if (facts === undefined) return next(index);
    if (isAbandoned(facts)) {
      return this.#end(encoder, index, facts) ? next(index) : undefined;
    }
    if (offset === BEGIN) {
      const { identity, mode, time } = facts;
      const begun = encoder.fileBegin({ index, mode, time, size: identity.size, path: entry.path });
      if (!begun) return undefined;
      if (limit === undefined) this.#begun(index);
      return { ...NO_BYTES, position: { entry: index, offset: 0 }, full: false };
    }
    const end = limit?.entry === index ? limit.offset : facts.identity.size;
    try {
      if (offset < end) return this.#data({ encoder, target }, entry, facts, position, limit);
      return this.#close(encoder, entry, index, facts);
    } catch (error) {
      const isChanged = codeOf(error) === 'ERR_RDMC_FILE_CHANGED' || codeOf(error) === 'ENOENT';
      this.#abandon(
        entry,
        index,
        facts,
        isChanged ? FileStatus.CHANGED : FileStatus.UNREADABLE,
        messageOf(error),
      );
      return { ...NO_BYTES, position, full: false };
    }
  }

  #begun(index: number): void {
    this.totals.count('file');
    this.#sent.begin(index);
  }

  #data(
    { encoder, target }: { readonly encoder: MessageEncoder; readonly target: Buffer },
    entry: FileEntry,
    facts: FileFacts,
    { entry: index, offset }: Position,
    limit: Position | undefined,
  ) {
    const most = limit?.entry === index ? limit.offset : facts.identity.size;
    const { isSent, end } = runAt(facts, offset, most);
    const source = this.#source.again(entry, index, facts);
    const request = { encoder, target, source, hash: this.#hash, index, offset, end };
    const filled =
      isSent && this.#packer
        ? fillPacked(request, this.#packer)
        : (!isSent ? fillKept : facts.sparse ? fillSparse : fillData)(request);
    if (filled.short) throw changed('it became shorter');
    const full = filled.offset < end && (isSent || filled.offset === offset);
    // The same bytes fit again, unless holes have been filled meanwhile.
    if (full && limit !== undefined) throw changed('it has fewer holes');
    const position = { entry: index, offset: filled.offset };
    return { position, contentBytes: filled.contentBytes, keptBytes: filled.keptBytes, full };
  }

  /** Ends a file whose bytes are all in the stream. @throws CastError ERR_RDMC_FILE_CHANGED */
  #close(encoder: MessageEncoder, entry: FileEntry, index: number, facts: FileFacts) {
    const source = this.#source.of(index);
    if (source === undefined && facts.status === 'reading') this.#source.again(entry, index, facts);
    if (source?.is(facts.identity) === false) throw changed('its size or times changed');
    if (facts.status === 'reading') {
      facts.digest = this.#hash.digest();
      facts.status = FileStatus.WHOLE;
      this.totals.bytes += facts.identity.size;
      this.#sent.complete(index, facts.identity.size);
    }
    this.#source.closeIf(index);
    return this.#end(encoder, index, facts) ? next(index) : undefined;
  }

  #end(encoder: MessageEncoder, index: number, { status, digest }: FileFacts): boolean {
    return encoder.fileEnd({ index, status: status === 'reading' ? FileStatus.UNREADABLE : status, digest });
  }

  /** Opens a file for the first time. Adds a problem and returns undefined where that fails. */
  #openFirst(entry: FileEntry, index: number): FileFacts | undefined {
    if (this.#skipped.has(index)) return undefined;
    try {
      const source = this.#source.first(entry, index);
      if (this.#selection?.[index] === Selected.UNCHANGED) checkCompared(entry, source);
      const told = this.#told && inSource(entry, (place) => this.#told!.of(source.stats, place));
      if (told) checkTold(entry, told);
      const { mode, mtimeNs } = source.stats;
      const facts: FileFacts = {
        identity: source.identity,
        mode: Number(mode) & MODE_MASK,
        time: timestamp(mtimeNs),
        sparse: source.sparse,
        blocks: this.#blocksOf(index, source),
        status: 'reading',
        digest: NO_DIGEST,
      };
      this.#facts.set(index, facts);
      this.#hash.begin(index);
      return facts;
    } catch (error) {
      this.#source.close();
      this.#skipped.add(index);
      const isChanged = codeOf(error) === 'ERR_RDMC_FILE_CHANGED' || codeOf(error) === 'ENOENT';
      this.#fileProblem(
        entry,
        index,
        isChanged ? 'ERR_RDMC_FILE_CHANGED' : 'ERR_RDMC_UNREADABLE',
        messageOf(error),
      );
      return undefined;
    }
  }

  /** Undefined where the whole file is sent: also where it has changed since its blocks were compared. */
  #blocksOf(index: number, { identity }: FileSource): SentBlocks | undefined {
    const blocks = this.#blocks.get(index);
    return blocks && isSameIdentity(blocks.identity, identity) ? blocks : undefined;
  }

  #abandon(entry: FileEntry, index: number, facts: FileFacts, status: 1 | 2, message: string): void {
    if (facts.status === FileStatus.WHOLE) this.totals.bytes -= facts.identity.size;
    this.#sent.abandon(index, facts.identity.size);
    facts.status = status;
    facts.digest = NO_DIGEST;
    this.#source.close();
    const code = status === FileStatus.CHANGED ? 'ERR_RDMC_FILE_CHANGED' : 'ERR_RDMC_UNREADABLE';
    const advice = 'while it was read; cast it again when nothing writes to it';
    this.#fileProblem(entry, index, code, `${message} ${advice}`);
  }

  /** Once for all streams. */
  #fileProblem(entry: Entry, index: number, code: string, message: string): void {
    if (!this.#missing.has(index)) this.#problem(entry, code, message);
    this.#missing.add(index);
  }

  #problem(entry: Entry, code: string, message: string): void {
    this.problems.add({ path: shown(entry.path), code, message });
  }
}

function next(index: number) {
  return { ...NO_BYTES, position: { entry: index + 1, offset: BEGIN }, full: false };
}
