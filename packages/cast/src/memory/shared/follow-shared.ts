import { type FileHandle, open } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { CastError, codeOf } from '../../errors.js';
import {
  INDEX_BYTES,
  INDEX_MAGIC,
  INDEX_STATE_AT,
  INDEX_VERSION,
  INDEX_VERSION_AT,
  IndexState,
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
 * @throws CastError ERR_RDMC_INVALID_OPTION; ERR_RDMC_SHARED_MEMORY_GONE where the cast fails, or has been replaced;
 *   ERR_RDMC_VERSION_MISMATCH; the reason of the signal
 */
export async function* followShared(
  name: string,
  { signal }: FollowOptions = {},
): AsyncGenerator<SharedRecord, void, undefined> {
  const path = sharedPath(checkSharedName('followShared', name));
  const index = await openIndex(path, signal);
  try {
    await checkHeader(index, path);
    for (let at = RECORDS_AT; ; ) {
      // Before the records: what was written before this state is then complete.
      const state = await wordAt(index, INDEX_STATE_AT);
      for (let next = await recordAt(index, at); next; next = await recordAt(index, at)) {
        yield next.record;
        at += next.bytes;
      }
      if (state === IndexState.WHOLE) return;
      if (state !== IndexState.ARRIVING) throw gone(name, state === IndexState.FAILED);
      await delay(POLL_MS, undefined, { ...(signal && { signal }) });
    }
  } finally {
    await index.close();
  }
}

async function openIndex(path: string, signal: AbortSignal | undefined): Promise<FileHandle> {
  for (;;) {
    try {
      return await open(path, 'r');
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error;
    }
    await delay(POLL_MS, undefined, { ...(signal && { signal }) });
  }
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

function gone(name: string, hasFailed: boolean): CastError {
  const why = hasFailed ? 'its cast has failed' : 'another cast, or the end of the receiver, has replaced it';
  return new CastError('ERR_RDMC_SHARED_MEMORY_GONE', `the shared memory ${name} is gone: ${why}`);
}
