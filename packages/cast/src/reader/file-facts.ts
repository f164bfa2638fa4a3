import { FileStatus, type FileStatusValue } from '../stream/layout.js';
import type { Timestamp } from '../stream/records.js';
import type { SentBlocks } from './block-reader.js';
import type { FileIdentity } from './file-source.js';

/** The metadata of a file at its first reading, and its status. A second reading must find the same metadata. */
export interface FileFacts {
  readonly identity: FileIdentity;
  readonly mode: number;
  readonly time: Timestamp;
  readonly sparse: boolean;
  /** What is sent of it; undefined for all. */
  readonly blocks: SentBlocks | undefined;
  /** 'reading' until its end has been written for the first time. */
  status: 'reading' | FileStatusValue;
  digest: Buffer;
}

export const NO_DIGEST = Buffer.alloc(32);

/** Whether it was given up: it changed, or could not be read to its end. */
export function isAbandoned(facts: FileFacts): boolean {
  return facts.status === FileStatus.CHANGED || facts.status === FileStatus.UNREADABLE;
}

/** The next bytes of a file that are all sent, or all kept: their end, at most `end`. */
export function runAt({ blocks }: FileFacts, offset: number, end: number) {
  if (!blocks) return { isSent: true, end };
  const { sent, blockBytes } = blocks;
  const block = Math.floor(offset / blockBytes);
  return { isSent: sent.has(block), end: Math.min(end, sent.runEnd(block) * blockBytes) };
}
