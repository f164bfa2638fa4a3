import { MAX_NAME_BYTES, MAX_PATH_BYTES, TEMPORARY_PREFIX } from '../constants.js';
import { CastError } from '../errors.js';

const SLASH = 0x2f;
const DOT = 0x2e;

/**
 * Checks a path from outside: a path that passes cannot leave the directory it is stored in, as long as no symbolic
 * link is followed. @throws CastError ERR_RDMC_UNSAFE_PATH
 */
export function checkPath(path: Buffer): void {
  if (path.length === 0 || path.length > MAX_PATH_BYTES) {
    throw unsafe(path, `it has ${path.length} bytes; 1 to ${MAX_PATH_BYTES} are possible`);
  }
  if (path.includes(0)) throw unsafe(path, 'it contains a zero byte');
  for (let start = 0; start <= path.length; ) {
    const slash = path.indexOf(SLASH, start);
    const end = slash === -1 ? path.length : slash;
    checkName(path, start, end);
    start = end + 1;
  }
  // Temporary files of active casts are below such a name.
  if (isTemporary(path)) {
    throw unsafe(path, `names that begin with ${TEMPORARY_PREFIX} are reserved for temporary files`);
  }
}

/** Of the component between these places. Every file has some, so nothing is allocated. */
function checkName(path: Buffer, start: number, end: number): void {
  const length = end - start;
  if (length === 0) throw unsafe(path, 'a component is empty, or it is absolute');
  if (length > MAX_NAME_BYTES) throw unsafe(path, `a component has more than ${MAX_NAME_BYTES} bytes`);
  if (length <= 2 && path[start] === DOT && path[end - 1] === DOT)
    throw unsafe(path, `a component is '${path.toString('utf8', start, end)}'`);
}

function unsafe(path: Buffer, reason: string): CastError {
  return new CastError('ERR_RDMC_UNSAFE_PATH', `the path ${shown(path)} is refused: ${reason}`);
}

/** Whether a name is that of incomplete files, of a receiver or a fetcher that stores in this directory. */
export function isTemporary(name: Buffer): boolean {
  return name[0] === DOT && name.toString('latin1').startsWith(TEMPORARY_PREFIX);
}

/** Views of the parts between slashes. */
export function componentsOf(path: Buffer): Buffer[] {
  const components: Buffer[] = [];
  let start = 0;
  for (;;) {
    const end = path.indexOf(SLASH, start);
    if (end === -1) {
      components.push(path.subarray(start));
      return components;
    }
    components.push(path.subarray(start, end));
    start = end + 1;
  }
}

/** For messages: control characters and bytes that are not UTF-8 are replaced, and a long path is clipped. */
export function shown(path: Uint8Array, limit = 200): string {
  const text = Buffer.from(path)
    .toString('utf8')
    .replace(/\p{Cc}/gu, '\ufffd');
  return text.length > limit ? `${text.slice(0, limit - 1)}…` : text;
}
