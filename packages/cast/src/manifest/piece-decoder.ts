import { inflateRawSync } from 'node:zlib';
import { attributesLength } from '../archive/entry-attributes.js';
import { MAX_PATH_BYTES, MAX_PIECE_BYTES, MODE_MASK } from '../constants.js';
import { messageOf, protocolError } from '../errors.js';
import { DIGEST_BYTES } from '../stream/layout.js';
import { checkPath } from '../stream/paths.js';
import { readSigned64, readUnsigned64 } from '../stream/words.js';
import { AT, ENTRY_BYTES, EntryKind, HAS_ATTRIBUTES, HAS_DIGEST } from './layout.js';
import type { ManifestEntry } from './manifest-entry.js';

const NANOSECONDS = 1_000_000_000;
const KINDS = new Map(
  Object.entries(EntryKind).map(([name, kind]) => [kind, name as keyof typeof EntryKind]),
);

/**
 * Decodes and checks a piece of the manifest. Its entries are views of one buffer.
 *
 * @param isArchive whether entries may have attributes; only the length of these is checked
 * @throws CastError ERR_RDMC_CAST_PROTOCOL, ERR_RDMC_UNSAFE_PATH, at the entry concerned
 */
export function* decodePiece(
  count: number,
  data: string,
  isArchive = false,
): Generator<ManifestEntry, void, undefined> {
  const bytes = inflated(data);
  let at = 0;
  for (let number = 0; number < count; number += 1) {
    const entry = entryAt(bytes, at, isArchive);
    yield entry;
    at += lengthOf(entry);
  }
  if (at !== bytes.length) throw wrong('has bytes after its last entry');
}

function lengthOf({ path, target, digest, attributes }: ManifestEntry): number {
  return ENTRY_BYTES + path.length + target.length + (digest?.length ?? 0) + (attributes?.length ?? 0);
}

function inflated(data: string): Buffer {
  try {
    return inflateRawSync(Buffer.from(data, 'base64'), { maxOutputLength: MAX_PIECE_BYTES });
  } catch (error) {
    throw wrong(`cannot be decompressed: ${messageOf(error)}`, error);
  }
}

function entryAt(bytes: Buffer, at: number, isArchive: boolean): ManifestEntry {
  if (bytes.length - at < ENTRY_BYTES) throw wrong('ends within an entry');
  const fields = bytes.subarray(at);
  const kind = KINDS.get(fields[AT.KIND] as (typeof EntryKind)[keyof typeof EntryKind]);
  if (kind === undefined) throw wrong(`has an entry of the unknown kind ${fields[AT.KIND]}`);
  const { hasDigest, hasAttributes } = flagsAt(fields, kind, isArchive);
  const pathBytes = fields.readUInt16LE(AT.PATH_BYTES);
  const targetBytes = fields.readUInt16LE(AT.TARGET_BYTES);
  const targetAt = ENTRY_BYTES + pathBytes;
  const digestAt = targetAt + targetBytes;
  const end = digestAt + (hasDigest ? DIGEST_BYTES : 0);
  if (end > fields.length) throw wrong('ends within an entry');
  const entry = {
    kind,
    path: fields.subarray(ENTRY_BYTES, targetAt),
    mode: fields.readUInt16LE(AT.MODE) & MODE_MASK,
    time: timeAt(fields),
    size: sizeAt(fields),
    target: fields.subarray(targetAt, digestAt),
    targetIndex: fields.readUInt32LE(AT.TARGET_INDEX),
    digest: hasDigest ? fields.subarray(digestAt, end) : undefined,
    attributes: hasAttributes ? attributesAt(fields.subarray(end)) : undefined,
  };
  checkPath(entry.path);
  checkTarget(entry);
  return entry;
}

function flagsAt(fields: Buffer, kind: ManifestEntry['kind'], isArchive: boolean) {
  const flags = fields[AT.FLAGS]!;
  const hasDigest = (flags & HAS_DIGEST) !== 0;
  const hasAttributes = (flags & HAS_ATTRIBUTES) !== 0;
  const isKnown = (flags & ~(HAS_DIGEST | HAS_ATTRIBUTES)) === 0;
  const isPossible = (kind === 'file' || !hasDigest) && (isArchive || !hasAttributes);
  if (!isKnown || !isPossible) throw wrong('has unknown flags');
  if (isArchive && hasAttributes === (kind === 'hardLink'))
    throw wrong(hasAttributes ? 'has a hard link with attributes' : 'has an entry without attributes');
  return { hasDigest, hasAttributes };
}

function attributesAt(fields: Buffer): Buffer {
  return fields.subarray(0, attributesLength(fields));
}

function checkTarget({ kind, target }: ManifestEntry): void {
  if (kind === 'hardLink') checkPath(target);
  else if (kind === 'symbolicLink') {
    const isPossible = target.length > 0 && target.length < MAX_PATH_BYTES && !target.includes(0);
    if (!isPossible) throw wrong('has a symbolic link with an impossible target');
  } else if (target.length > 0) throw wrong('has a target of an entry that is not a link');
}

function timeAt(fields: Buffer) {
  const seconds = readSigned64(fields, AT.SECONDS);
  const nanoseconds = fields.readUInt32LE(AT.NANOSECONDS);
  if (seconds === undefined || nanoseconds >= NANOSECONDS) throw wrong('has an impossible time');
  return { seconds, nanoseconds };
}

function sizeAt(fields: Buffer): number {
  const size = readUnsigned64(fields, AT.SIZE);
  if (size === undefined) throw wrong('has a size beyond 2^53');
  return size;
}

function wrong(what: string, cause?: unknown) {
  return protocolError(`a piece of the manifest ${what}`, cause);
}
