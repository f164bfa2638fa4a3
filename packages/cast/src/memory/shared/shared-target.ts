import { closeSync, rmSync } from 'node:fs';
import { CastError, codeOf, messageOf } from '../../errors.js';
import type { SinkFailure } from '../../writer/file-taker.js';
import type { ByteRange } from '../coverage.js';
import type { MemoryPlace, MemoryTarget, SizedFile } from '../memory-target.js';
import type { Tensor } from '../safetensors.js';
import { createPrivate, IndexWriter } from './index-writer.js';
import { IndexState, PART_SUFFIX, SHARED_DIRECTORY } from './layout.js';
import { removeIndex, removeSegments, sharedPath, writeFully } from './segments.js';

interface Segment {
  readonly path: string;
  readonly segment: string;
  readonly size: number;
  descriptor: number | undefined;
}

/** Named shared memory: see `layout.ts`. The first file of a cast replaces what the last cast has brought. */
export class SharedTarget implements MemoryTarget {
  readonly #segments = new Map<number, Segment>();
  #index: IndexWriter | undefined;
  #isFinished = false;
  #isClosed = false;

  constructor(
    private readonly name: string,
    private readonly castId: string,
  ) {}

  async allocate({ index, path, size }: SizedFile): Promise<MemoryPlace> {
    return checked(() => {
      this.#index ??= this.#begin();
      const segment = `${this.#prefix}${this.#segments.size}`;
      const descriptor = createPrivate(sharedPath(segment), size);
      const opened = { path: Buffer.from(path).toString('utf8'), segment, size, descriptor };
      this.#segments.set(index, opened);
      return new SegmentPlace(descriptor);
    });
  }

  async tensors(index: number, tensors: readonly Tensor[]): Promise<void> {
    const { path, segment } = this.#segments.get(index)!;
    checked(() => {
      for (const tensor of tensors) this.#index!.add({ type: 'tensor', path, segment, ...tensor });
    });
  }

  async file(index: number, ranges: readonly ByteRange[]): Promise<void> {
    const opened = this.#segments.get(index)!;
    const { path, segment, size } = opened;
    checked(() => this.#index!.add({ type: 'file', path, segment, size, ranges }));
    closeSegment(opened);
  }

  async fail(index: number, { code, message }: SinkFailure): Promise<void> {
    const opened = this.#segments.get(index)!;
    const { path, segment } = opened;
    closeSegment(opened);
    rmSync(sharedPath(segment), { force: true });
    checked(() => this.#index!.add({ type: 'failed', path, segment, code, message }));
  }

  finish(): void {
    this.#isFinished = true;
    this.#index?.setState(IndexState.WHOLE);
  }

  giveUp(): void {}

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const segment of this.#segments.values()) closeSegment(segment);
    if (this.#index && !this.#isFinished) {
      this.#index.remove(sharedPath(this.name));
      removeSegments(this.name, this.castId);
    }
    this.#index?.close();
  }

  /** @throws errors of the system */
  #begin(): IndexWriter {
    removeIndex(this.name, IndexState.REPLACED);
    removeSegments(this.name);
    return new IndexWriter(sharedPath(`${this.#prefix}index`), sharedPath(this.name));
  }

  get #prefix(): string {
    return `${this.name}${PART_SUFFIX}${this.castId}-`;
  }
}

/** New segments are zero, so that holes cost nothing. */
class SegmentPlace implements MemoryPlace {
  constructor(private readonly descriptor: number) {}

  write(offset: number, bytes: Buffer): void {
    checked(() => writeFully(this.descriptor, bytes, offset));
  }

  zeros(): void {}
}

function closeSegment(segment: Segment): void {
  if (segment.descriptor !== undefined) closeSync(segment.descriptor);
  segment.descriptor = undefined;
}

/** @throws CastError in the place of errors of the system */
function checked<T>(action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (error instanceof CastError) throw error;
    const isFull = codeOf(error) === 'ENOSPC';
    const message = isFull
      ? `no space is left in ${SHARED_DIRECTORY}; make it larger, or ask for fewer tensors`
      : `the shared memory cannot be written: ${messageOf(error)}`;
    throw new CastError(isFull ? 'ERR_RDMC_NO_SPACE' : 'ERR_RDMC_WRITE_FAILED', message, { cause: error });
  }
}
