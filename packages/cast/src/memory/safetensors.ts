/**
 * The header of a .safetensors file: where its tensors are. It comes from the sender, and is checked as the safetensors
 * library does (`SafeTensors::read_metadata`). Integers are little endian.
 *
 *   byte  0              8                 8 + headerBytes
 *         +--------------+-----------------+-----------------------------------
 *         | headerBytes  | header          | data: the tensors, one behind the other, without gaps
 *         |     u64      | JSON, UTF-8     |
 *         +--------------+-----------------+-----------------------------------
 *
 *   header  {"name": {"dtype": "F16", "shape": [2, 3], "data_offsets": [0, 12]}, …, "__metadata__": {"key": "text"}}
 *           data_offsets are the first byte of a tensor and the byte behind its last one, counted from the data's beginning.
 */
import { dictionary, list, optional, record, ShapeError, text, whole } from '@rdmc/common/shapes';
import { CastError, messageOf } from '../errors.js';
import { readUnsigned64 } from '../stream/words.js';

/** Bytes before the header. */
export const PREFIX_BYTES = 8;
/** Largest header that the safetensors library reads, too. */
export const MAX_HEADER_BYTES = 100_000_000;
const METADATA = '__metadata__';
const OPEN_BRACE = 0x7b;
const SPACE = 0x20;
const BITS_PER_BYTE = 8;

/** Bits of an element of each type. */
const DTYPE_BITS: Readonly<Record<string, number>> = {
  ...{ F4: 4, F6_E2M3: 6, F6_E3M2: 6 },
  ...{ BOOL: 8, U8: 8, I8: 8, F8_E5M2: 8, F8_E4M3: 8, F8_E8M0: 8 },
  ...{ I16: 16, U16: 16, F16: 16, BF16: 16 },
  ...{ I32: 32, U32: 32, F32: 32 },
  ...{ I64: 64, U64: 64, F64: 64, C64: 64 },
};

/** A tensor of a .safetensors file. */
export interface Tensor {
  /** Its name in the header. */
  readonly name: string;
  /** The type of its elements, as in the header: 'F32', 'BF16' and others. */
  readonly dtype: string;
  /** The length of each dimension; empty for a scalar. */
  readonly shape: readonly number[];
  /** Offset of its first byte in the file. */
  readonly begin: number;
  /** Offset of the byte behind its last one. */
  readonly end: number;
}

const headerShape = dictionary(
  record({
    dtype: text(16),
    shape: list(whole()),
    data_offsets: list(whole(), 2, 2),
  }),
);
const metadataShape = optional(dictionary(text()));

/** Whether a file of this name has tensors. @param path in the cast, as bytes */
export function isSafetensors(path: Uint8Array): boolean {
  return Buffer.from(path).toString('latin1').endsWith('.safetensors');
}

/**
 * Bytes of the header and of the length before it.
 * @param prefix the first bytes of the file, 8 at least if it has as many
 * @throws CastError ERR_RDMC_INVALID_SAFETENSORS
 */
export function headLength(prefix: Buffer, fileBytes: number): number {
  if (fileBytes < PREFIX_BYTES) throw invalid(`the file has only ${fileBytes} bytes`);
  const headerBytes = readUnsigned64(prefix, 0);
  if (headerBytes === undefined || headerBytes > MAX_HEADER_BYTES)
    throw invalid(`its header is longer than ${MAX_HEADER_BYTES} bytes`);
  if (headerBytes > fileBytes - PREFIX_BYTES)
    throw invalid(`its header of ${headerBytes} bytes does not fit into the file of ${fileBytes} bytes`);
  return PREFIX_BYTES + headerBytes;
}

/**
 * The tensors of a file, in the order of their offsets.
 * @param head the first `headLength` bytes of the file
 * @throws CastError ERR_RDMC_INVALID_SAFETENSORS
 */
export function parseTensors(head: Buffer, fileBytes: number): Tensor[] {
  const { [METADATA]: metadata, ...entries } = headerOf(head.subarray(PREFIX_BYTES));
  const tensors = shaped(() => {
    metadataShape.read(metadata, METADATA);
    return Object.entries(headerShape.read(entries, 'header'));
  }).map(([name, { dtype, shape, data_offsets }]): Tensor => {
    const [begin, end] = data_offsets as [number, number];
    return { name, dtype, shape, begin: head.length + begin, end: head.length + end };
  });
  tensors.sort((a, b) => a.begin - b.begin || a.end - b.end);
  let at = head.length;
  for (const tensor of tensors) {
    checkTensor(tensor, at, fileBytes);
    at = tensor.end;
  }
  if (at !== fileBytes) throw invalid(`its tensors end at byte ${at} of ${fileBytes}`);
  return tensors;
}

function checkTensor(tensor: Tensor, expected: number, fileBytes: number): void {
  const { name, begin, end } = tensor;
  if (end > fileBytes) throw invalid(`the tensor ${quoted(name)} ends behind the end of the file`);
  if (begin !== expected || end < begin) {
    const where = `begins at byte ${begin} and ends at ${end}`;
    throw invalid(`the tensor ${quoted(name)} ${where}; the one before it ends at ${expected}`);
  }
  const bytes = bytesOf(tensor);
  if (bytes !== end - begin)
    throw invalid(
      `the tensor ${quoted(name)} has ${end - begin} bytes, which its type and shape do not have`,
    );
}

/** Undefined where it is not a whole number of bytes, or larger than a file can be. */
function bytesOf({ dtype, shape, name }: Tensor): number | undefined {
  const perElement = Object.hasOwn(DTYPE_BITS, dtype) ? DTYPE_BITS[dtype]! : undefined;
  if (perElement === undefined)
    throw invalid(`the tensor ${quoted(name)} has the unknown type ${quoted(dtype)}`);
  // A dimension of 0 makes the product 0, whatever the others are: so no product before it may overflow.
  let elements = shape.includes(0) ? 0 : 1;
  for (const length of shape) {
    if (elements > Number.MAX_SAFE_INTEGER / Math.max(length, 1)) return undefined;
    elements *= length;
  }
  const bits = elements * perElement;
  return Number.isSafeInteger(bits) && bits % BITS_PER_BYTE === 0 ? bits / BITS_PER_BYTE : undefined;
}

/** The header as JSON. Names that come twice are refused: `JSON.parse` would keep the last one only. */
function headerOf(bytes: Buffer): Record<string, unknown> {
  if (bytes[0] !== OPEN_BRACE) throw invalid('its header does not begin with {');
  let parsed: object;
  let json: string;
  try {
    json = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    parsed = JSON.parse(json) as object;
  } catch (error) {
    throw invalid(`its header is not JSON: ${messageOf(error)}`);
  }
  if (namesIn(json) !== fieldsOf(parsed)) throw invalid('a name comes twice in its header');
  return parsed as Record<string, unknown>;
}

/** Number of the names of fields in text that is JSON: the strings before a colon. */
function namesIn(json: string): number {
  let names = 0;
  for (let at = json.indexOf('"'); at !== -1; at = json.indexOf('"', at + 1)) {
    at = endOfString(json, at);
    let next = at + 1;
    while (json.charCodeAt(next) <= SPACE) next += 1;
    if (json[next] === ':') names += 1;
  }
  return names;
}

/** Where a string ends that begins at `at`: at the first quote behind an even number of backslashes. */
function endOfString(json: string, at: number): number {
  for (let end = json.indexOf('"', at + 1); ; end = json.indexOf('"', end + 1)) {
    let first = end;
    while (json[first - 1] === '\\') first -= 1;
    if ((end - first) % 2 === 0) return end;
  }
}

/** Fields of a header of the expected form; deeper ones are refused later. */
function fieldsOf(header: object): number {
  const pending: unknown[] = [header];
  let fields = 0;
  for (let value = pending.pop(); value !== undefined; value = pending.pop()) {
    if (typeof value !== 'object' || value === null) continue;
    const inner: unknown[] = Object.values(value);
    if (!Array.isArray(value)) fields += inner.length;
    for (const each of inner) if (typeof each === 'object') pending.push(each);
  }
  return fields;
}

function shaped<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof ShapeError) throw invalid(`its header: ${messageOf(error)}`);
    throw error;
  }
}

function quoted(name: string): string {
  return JSON.stringify(name.length > 100 ? `${name.slice(0, 99)}…` : name);
}

function invalid(what: string): CastError {
  return new CastError('ERR_RDMC_INVALID_SAFETENSORS', `it is not a safetensors file: ${what}`);
}
