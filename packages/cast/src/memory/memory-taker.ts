import type { CastProblem } from '../cast-summary.js';
import { CastError, type CastErrorCode } from '../errors.js';
import { shown } from '../stream/paths.js';
import type { BeginningFile, Ended, FileTaker, SinkFailure } from '../writer/file-taker.js';
import { OrderPort } from '../writer/order-port.js';
import type { MemoryOpening } from '../writer/orders.js';
import { Coverage } from './coverage.js';
import type { MemoryPlace, MemoryTarget, SizedFile } from './memory-target.js';
import { PartAnswers } from './part-answers.js';
import { notAllSent, type WantedBytes, WantedParts } from './parts.js';
import { PortTarget } from './port-target.js';
import { isSafetensors } from './safetensors.js';
import { SharedTarget } from './shared/shared-target.js';
import { TensorProgress } from './tensor-progress.js';

/** Opens the memory of a cast. */
export function memoryTaker({ to, parts }: MemoryOpening, castId: string): MemoryTaker {
  const target = typeof to === 'string' ? new SharedTarget(to, castId) : new PortTarget(new OrderPort(to));
  const wanted = new WantedParts(parts);
  return new MemoryTaker(target, wanted, parts && new PartAnswers(wanted));
}

/** A file in memory. It may come in several streams: what has arrived stays as it is. */
class MemoryFile {
  readonly here = new Coverage();
  place: MemoryPlace | undefined;
  failure: SinkFailure | undefined;
  isWhole = false;
  wanted: WantedBytes | undefined;
  tensors: TensorProgress | undefined;

  constructor(readonly file: BeginningFile) {}

  /** Whether bytes of it still count. */
  get isOpen(): boolean {
    return this.place !== undefined && !this.failure && !this.isWhole;
  }

  /** Whether everything that is wanted is here. */
  get hasAll(): boolean {
    if (this.tensors && !this.tensors.tensors) return false;
    const wanted = this.wanted === 'all' ? [{ begin: 0, end: this.file.size! }] : this.wanted?.ranges;
    return wanted?.every(({ begin, end }) => this.here.covers(begin, end)) ?? false;
  }

  /** The parts of a range that are wanted, and not here yet. The header is wanted before the tensors are known. */
  missing(begin: number, end: number) {
    if (this.wanted === 'all') return this.here.missing(begin, end);
    const wanted = this.wanted ?? new Coverage([{ begin: 0, end: this.tensors!.headBytes }]);
    return wanted.within(begin, end).flatMap((part) => this.here.missing(part.begin, part.end));
  }
}

/**
 * Puts the files of a cast into memory, and reports each tensor and each file when it is whole. Memory gets only bytes that
 * have been checked, and no byte is written twice.
 */
export class MemoryTaker implements FileTaker {
  readonly #files = new Map<number, MemoryFile>();
  #open: MemoryFile | undefined;
  #offset = 0;

  constructor(
    private readonly target: MemoryTarget,
    private readonly parts: WantedParts,
    readonly answers: PartAnswers | undefined,
  ) {}

  async begin(file: BeginningFile): Promise<void> {
    const { index, path, size } = file;
    this.#offset = 0;
    const known = this.#files.get(index);
    this.#open = known ?? new MemoryFile(file);
    if (known) return;
    const opened = this.#open;
    this.#files.set(index, opened);
    if (size === undefined)
      return this.#fail(
        opened,
        new CastError('ERR_RDMC_UNKNOWN_SIZE', 'the length of a stream is not known'),
      );
    opened.wanted = this.parts.byPath(path, size);
    // Of a file with ranges, the header need not come.
    const hasHeader = isSafetensors(path) && (opened.wanted === 'all' || opened.wanted === undefined);
    try {
      if (hasHeader) opened.tensors = new TensorProgress(size);
    } catch (error) {
      return this.#refuse(opened, error);
    }
    opened.place = await this.target.allocate(file as SizedFile);
  }

  async data(bytes: Buffer): Promise<void> {
    const [begin, file] = [this.#offset, this.#open!];
    this.#offset += bytes.length;
    await this.#take(file, begin, bytes, (place, from, to) =>
      place.write(from, bytes.subarray(from - begin, to - begin)),
    );
  }

  async hole(length: number): Promise<void> {
    const [begin, file] = [this.#offset, this.#open!];
    this.#offset += length;
    const isHeader = file.tensors !== undefined && !file.tensors.tensors;
    const zeros = Buffer.alloc(isHeader ? length : 0);
    await this.#take(file, begin, zeros, (place, from, to) => place.zeros(from, to - from), length);
  }

  pass(length: number): void {
    this.#offset += length;
  }

  async end(): Promise<Ended> {
    const file = this.#open!;
    this.#open = undefined;
    if (file.failure) return file.failure;
    if (!file.isOpen || !file.hasAll) return undefined;
    file.isWhole = true;
    await this.target.file(file.file.index, file.here.ranges);
    return file.here.bytes;
  }

  async discard(failure: SinkFailure): Promise<void> {
    const file = this.#open!;
    this.#open = undefined;
    if (!file.isWhole) await this.#fail(file, failure);
  }

  async finish(): Promise<readonly CastProblem[]> {
    const problems: CastProblem[] = [];
    for (const file of this.#files.values()) {
      if (!file.isOpen) continue;
      const { code, message } = notAllSent();
      await this.#fail(file, { code, message });
      problems.push({ path: shown(file.file.path), code, message });
    }
    this.target.finish();
    return problems;
  }

  giveUp(): void {
    this.target.giveUp();
  }

  close(): void {
    this.target.close();
  }

  /** Takes a range. @param bytes of it, for the header @param write writes a part of it */
  async #take(
    file: MemoryFile,
    begin: number,
    bytes: Buffer,
    write: (place: MemoryPlace, from: number, to: number) => Promise<void> | void,
    length = bytes.length,
  ): Promise<void> {
    const { tensors, here } = file;
    if (!file.isOpen) return;
    const isNew = !tensors?.tensors;
    try {
      tensors?.read(begin, bytes);
    } catch (error) {
      return this.#refuse(file, error);
    }
    if (tensors?.tensors) file.wanted ??= this.parts.byTensors(tensors.headBytes, tensors.tensors);
    for (const part of file.missing(begin, begin + length)) {
      await write(file.place!, part.begin, part.end);
      here.add(part.begin, part.end);
    }
    await this.#show(file, isNew ? 0 : begin, isNew ? file.file.size! : begin + length);
  }

  /** Reports the tensors in a range that have become whole. */
  async #show({ tensors, here, file, wanted }: MemoryFile, begin: number, end: number): Promise<void> {
    const whole = tensors?.whole(begin, end, here) ?? [];
    // An empty tensor is whole at once, whether it is wanted or not.
    const found = wanted === 'all' ? whole : whole.filter(({ name }) => this.parts.isWanted(name));
    if (found.length > 0) await this.target.tensors(file.index, found);
  }

  /** @throws errors without a code of the file itself */
  #refuse(file: MemoryFile, error: unknown): Promise<void> {
    const refusal: CastErrorCode = 'ERR_RDMC_INVALID_SAFETENSORS';
    if (!(error instanceof CastError) || error.code !== refusal) throw error;
    return this.#fail(file, error);
  }

  async #fail(file: MemoryFile, { code, message }: SinkFailure): Promise<void> {
    if (file.failure) return;
    const hadPlace = file.place !== undefined;
    file.failure = { code, message };
    file.place = undefined;
    if (hadPlace) await this.target.fail(file.file.index, file.failure);
  }
}
