import { constants } from 'node:fs';
import { type FileHandle, open, readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { parseIdentity, processState } from '@rdmc/common';
import { CastError, codeOf } from '../../errors.js';
import {
  INDEX_BYTES,
  INDEX_MAGIC,
  INDEX_STATE_AT,
  INDEX_VERSION,
  INDEX_VERSION_AT,
  IndexState,
  OWNER_SUFFIX,
  RECORD_ALIGNMENT,
  RECORD_BYTES_AT,
  RECORD_COMPLETE,
  RECORD_HEADER_BYTES,
  RECORD_STATE_AT,
  RECORDS_AT,
} from './layout.js';
import { sharedPath } from './segments.js';
import { checkSharedName } from './shared-name.js';
import type { SharedRecord } from './shared-record.js';

/** Interval at which the index is read again. */
const POLL_MS = 5;
/** After so many of them, it looks whether the receiver still lives. */
const POLLS_FOR_OWNER = 200;
/** Another user may have put a pipe or a link there. */
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Options of {@link followShared}. */
export interface FollowOptions {
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * What has arrived, and arrives, in the named shared memory of a receiver of this user: a record for each tensor and each
 * file that is whole. It waits for the first cast, and ends with it. The bytes are in `/dev/shm/` + `segment`, in each
 * process that may open it.
 *
 * @throws CastError ERR_RDMC_INVALID_OPTION; ERR_RDMC_SHARED_MEMORY_GONE where the cast fails, has been replaced, or its receiver
 *   was killed; ERR_RDMC_SHARED_NAME_IN_USE where the name is not of a receiver of this user; ERR_RDMC_VERSION_MISMATCH; the
 *   reason of the signal
 */
export async function* followShared(
  name: string,
  { signal }: FollowOptions = {},
): AsyncGenerator<SharedRecord, void, undefined> {
  const path = sharedPath(checkSharedName('followShared', name));
  const index = await openIndex(path, signal);
  let isOrphan = false;
  try {
    await checkOwn(index, path);
    await checkHeader(index, path);
    for (let at = RECORDS_AT, polls = 0; ; polls += 1) {
      // Before the records: what was written before this state is then complete.
      const state = await wordAt(index, INDEX_STATE_AT);
      for (let next = await recordAt(index, at); next; next = await recordAt(index, at)) {
        yield next.record;
        at += next.bytes;
      }
      if (state === IndexState.WHOLE) return;
      if (state === IndexState.FAILED) throw gone(name, 'its cast has failed');
      if (state !== IndexState.ARRIVING)
        throw gone(name, 'another cast, or the end of the receiver, has replaced it');
      if (isOrphan) throw gone(name, 'its receiver has ended before the cast was whole');
      isOrphan = polls % POLLS_FOR_OWNER === 0 && (await isOwnerGone(path));
      // What it wrote before its end counts: look once more.
      if (isOrphan) continue;
      await delay(POLL_MS, undefined, { ...(signal && { signal }) });
    }
  } finally {
    await index.close();
  }
}

async function openIndex(path: string, signal: AbortSignal | undefined): Promise<FileHandle> {
  for (;;) {
    try {
      return await open(path, OPEN_FLAGS);
    } catch (error) {
      if (['ELOOP', 'EACCES'].includes(codeOf(error) ?? '')) throw foreign(path);
      if (codeOf(error) !== 'ENOENT') throw error;
    }
    await delay(POLL_MS, undefined, { ...(signal && { signal }) });
  }
}

/** All users may create files there. @throws CastError ERR_RDMC_SHARED_NAME_IN_USE */
async function checkOwn(index: FileHandle, path: string): Promise<void> {
  const stats = await index.stat();
  if (!stats.isFile() || stats.uid !== process.geteuid!()) throw foreign(path);
}

/** Whether the receiver was killed: it would have removed the index. */
async function isOwnerGone(path: string): Promise<boolean> {
  const text = await readFile(path + OWNER_SUFFIX, 'utf8').catch(() => '');
  const owner = parseIdentity(text);
  return owner !== undefined && processState(owner) === 'gone';
}

async function checkHeader(index: FileHandle, path: string): Promise<void> {
  const magic = await bytesAt(index, 0, INDEX_MAGIC.length);
  const version = await wordAt(index, INDEX_VERSION_AT);
  if (magic.equals(INDEX_MAGIC) && version === INDEX_VERSION) return;
  const message = `${path} is not an index of version ${INDEX_VERSION}`;
  throw new CastError('ERR_RDMC_VERSION_MISMATCH', message);
}

/** The record at an offset, and its length; undefined where it is not complete yet. */
async function recordAt(index: FileHandle, at: number) {
  if (at + RECORD_HEADER_BYTES > INDEX_BYTES) return undefined;
  if ((await wordAt(index, at + RECORD_STATE_AT)) !== RECORD_COMPLETE) return undefined;
  const length = await wordAt(index, at + RECORD_BYTES_AT);
  const json = await bytesAt(index, at + RECORD_HEADER_BYTES, length);
  const bytes = Math.ceil((RECORD_HEADER_BYTES + length) / RECORD_ALIGNMENT) * RECORD_ALIGNMENT;
  return { record: JSON.parse(json.toString()) as SharedRecord, bytes };
}

async function bytesAt(index: FileHandle, at: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  await index.read(bytes, 0, length, at);
  return bytes;
}

async function wordAt(index: FileHandle, at: number): Promise<number> {
  return (await bytesAt(index, at, 4)).readUInt32LE();
}

function foreign(path: string): CastError {
  return new CastError('ERR_RDMC_SHARED_NAME_IN_USE', `${path} is not of a receiver of this user`);
}

function gone(name: string, why: string): CastError {
  return new CastError('ERR_RDMC_SHARED_MEMORY_GONE', `the shared memory ${name} is gone: ${why}`);
}
