import { CastError } from '../errors.js';
import { Pattern } from '../filters/pattern.js';
import { Coverage } from './coverage.js';
import { isSafetensors, type Tensor } from './safetensors.js';

/** A range of the bytes of some files. */
export interface FileRange {
  /** The files, by a pattern with the rules of filters: a name, or a path in the cast. */
  readonly path: string;
  /** Offset of its first byte. */
  readonly begin: number;
  /** Offset of the byte behind its last one; what is behind the end of a file does not count. */
  readonly end: number;
}

/**
 * The part of a cast that a receiver wants: its shard. Of .safetensors files, the header and the tensors whose names match
 * `tensors`; of files that a range names, these ranges; of other files, everything.
 */
export interface CastParts {
  /** Patterns of the names of tensors, with the rules of filters. Without it, all tensors are wanted. */
  readonly tensors?: readonly string[] | undefined;
  /** Ranges of files. A file with ranges gets only these; its tensors are not looked for. */
  readonly ranges?: readonly FileRange[] | undefined;
}

/** Which bytes of a file are wanted. */
export type WantedBytes = Coverage | 'all';

/** The part of a cast that a receiver wants, ready to be compared with files. */
export class WantedParts {
  readonly #tensors: readonly Pattern[] | undefined;
  readonly #ranges: readonly { readonly pattern: Pattern; readonly begin: number; readonly end: number }[];

  /** @throws CastError ERR_RDMC_INVALID_PATTERN */
  constructor({ tensors, ranges = [] }: CastParts = {}) {
    this.#tensors = tensors?.map((pattern) => new Pattern(pattern));
    this.#ranges = ranges.map(({ path, begin, end }) => ({ pattern: new Pattern(path), begin, end }));
  }

  /** The wanted bytes where the path is enough to say so; undefined where they depend on the tensors of the file. */
  byPath(path: Uint8Array, fileBytes: number): WantedBytes | undefined {
    const text = Buffer.from(path).toString('latin1');
    const ranges = this.#ranges.filter(({ pattern }) => pattern.matches(text, false));
    if (ranges.length > 0)
      return new Coverage(ranges.map(({ begin, end }) => ({ begin, end: Math.min(end, fileBytes) })));
    return this.#tensors && isSafetensors(path) ? undefined : 'all';
  }

  /** The wanted bytes of a file with tensors: its header, and those that match. */
  byTensors(headBytes: number, tensors: readonly Tensor[]): Coverage {
    const wanted = tensors.filter(({ name }) => this.isWanted(name));
    return new Coverage([{ begin: 0, end: headBytes }, ...wanted]);
  }

  /** Whether a tensor of this name is wanted. */
  isWanted(name: string): boolean {
    const text = Buffer.from(name, 'utf8').toString('latin1');
    return this.#tensors?.some((pattern) => pattern.matches(text, false)) ?? true;
  }
}

/** A wanted tensor or range that the sender did not send, although its file has not failed. */
export function notAllSent(): CastError {
  return new CastError(
    'ERR_RDMC_FILE_CHANGED',
    'parts of it that are wanted were not sent: it changed after its tensors were listed; cast it again',
  );
}
