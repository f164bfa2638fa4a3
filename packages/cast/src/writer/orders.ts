import type { MessagePort } from 'node:worker_threads';
import type { Checksum } from '../checksum.js';
import type { ComparisonPolicy } from '../manifest/policy.js';
import type { CastParts } from '../memory/parts.js';
import type { ResumeLimit } from '../resume/resume-limit.js';
import type { ResumePort } from '../resume/resumption.js';
import type { RunSeal } from '../seal/run-key.js';

/** Memory in the place of a directory. */
export interface MemoryOpening {
  /** The port to the application's memory (see `memory/memory-orders.ts`), or a name (see `memory/shared/layout.ts`). */
  readonly to: MessagePort | string;
  /** What is wanted; undefined: everything. */
  readonly parts: CastParts | undefined;
}

export interface OpenOrder {
  /** Where files are stored; undefined with `sinks` and with `memory`. */
  readonly directory: string | undefined;
  /** The port to the sinks that take the files; see `sink-orders.ts`. */
  readonly sinks?: MessagePort | undefined;
  /** The memory that takes the files. */
  readonly memory?: MemoryOpening | undefined;
  readonly castId: string;
  readonly checksum: Checksum;
  /** Whether everything is synced before the cast is reported as complete. */
  readonly fsync: boolean;
  /** Whether the attributes that an archive cast tells are set. */
  readonly archive?: boolean;
  /** What interrupted casts leave; undefined: nothing. */
  readonly resume?: ResumePort | undefined;
  /** How entries are compared before they are sent; undefined where they are not. */
  readonly policy?: ComparisonPolicy | undefined;
}

/** A piece of the manifest. */
export interface ExamineOrder {
  readonly first: number;
  readonly count: number;
  readonly data: string;
}

/** A piece of the header of a file. */
export interface HeadOrder {
  readonly index: number;
  readonly offset: number;
  readonly data: string;
  readonly last: boolean;
}

/** Hashes of blocks of a file. */
export interface BlocksOrder {
  readonly index: number;
  readonly first: number;
  readonly data: string;
}

/** Before the first cast. */
export interface PrepareOrder {
  readonly directory: string;
  /** How much interrupted casts may leave. */
  readonly limit: ResumeLimit;
  /** Whether what terminated receivers have left is kept for later casts. */
  readonly resume: boolean;
}

export interface FinishOrder {
  /** Of all streams. */
  readonly messages: number;
  /** Whether entries that the sender does not have are removed. */
  readonly remove: boolean;
}

/** A run: the messages that follow are from another group. */
export interface EnterOrder {
  /** How they are encrypted; undefined where they are not. */
  readonly seal: RunSeal | undefined;
}

export interface StoreOrder {
  /** Handle of the region, and the bytes of the message in it. */
  readonly region: number;
  readonly byteLength: number;
  readonly sequence: number;
  /** Hash of the message's outline, from the sender; undefined where it is not checked. */
  readonly outline: string | undefined;
}
