import { type Cast, startCast } from './cast.js';
import type { CastOptions } from './cast-options.js';
import { checkCastOptions } from './checked-cast-options.js';
import { MODE_MASK } from './constants.js';
import { CastError, invalidOption } from './errors.js';
import { integerOption } from './options.js';
import { checkPath, shown } from './stream/paths.js';

/** Options of `castFiles` that need the whole of what is cast before it is sent, or twice. */
const IMPOSSIBLE = [
  'compare',
  'filters',
  'only',
  'update',
  'existing',
  'wholeFiles',
  'delete',
  'dryRun',
  'archive',
  'numericIds',
  'resume',
  'waitFor',
  'joinWindowMs',
  'retries',
] as const satisfies readonly (keyof CastOptions)[];
const DEFAULT_MODE = 0o644;
const WHERE = 'castStream';

/** The options of `castStream`. */
export interface CastStreamOptions extends Omit<CastOptions, (typeof IMPOSSIBLE)[number]> {
  /** Name of the file at the receivers: one component, without '/'. */
  readonly name: string | Uint8Array;
  /** Permission bits of the file, 0 to 0o777 (default 0o644). */
  readonly mode?: number | undefined;
}

/**
 * Sends bytes of unknown length to many machines at once, as one file. The input is read as fast as the receivers store
 * it. A failure of the input ends the cast at every receiver, and nothing is stored. The input is read once: receivers that
 * fail are left out, and there are no retries. The sender keeps messages until all receivers have them, at most 128 MiB.
 *
 * @param input a readable stream, or another iterable of bytes or text; the cast owns it, and ends it with itself
 * @throws CastError ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_OPTION, ERR_RDMC_KEY_REQUIRED, ERR_RDMC_DUPLICATE_HOST,
 *   ERR_RDMC_UNSAFE_PATH; MeshError ERR_RDMC_MESH_WEAK_KEY. Later errors reject `finished`: ERR_RDMC_UNREADABLE where the
 *   input fails
 */
export function castStream(
  input: AsyncIterable<Uint8Array | string>,
  { name, mode, ...options }: CastStreamOptions,
): Cast {
  for (const impossible of IMPOSSIBLE) {
    if ((options as Partial<CastOptions>)[impossible] === undefined) continue;
    throw invalidOption(`${WHERE}: ${impossible} is not possible: the input is read once, while it is sent`);
  }
  if (typeof (input as Partial<typeof input> | null)?.[Symbol.asyncIterator] !== 'function')
    throw invalidOption(`${WHERE}: needed a readable stream, or an async iterable of bytes`);
  const checked = checkCastOptions({ ...options, compare: 'none' });
  const file = {
    chunks: input as AsyncIterable<Uint8Array>,
    name: checkName(name),
    mode: integerOption(WHERE, 'mode', mode ?? DEFAULT_MODE, 0, MODE_MASK),
  };
  return startCast([], { ...checked, input: file });
}

function checkName(name: unknown): Buffer {
  const valid = (typeof name === 'string' || name instanceof Uint8Array) && name.length > 0;
  if (!valid) throw invalidOption(`${WHERE}: name: needed a name as text or bytes`);
  const bytes = Buffer.from(name as Uint8Array);
  if (bytes.includes(0x2f)) {
    throw new CastError(
      'ERR_RDMC_UNSAFE_PATH',
      `the name ${shown(bytes)} is refused: it contains '/'; give one component`,
    );
  }
  checkPath(bytes);
  return bytes;
}
