import type { Codec } from '../compression/codec.js';
import type { FileStatusValue } from './layout.js';

/** A modification time as two numbers, so that nanoseconds are exact. */
export interface Timestamp {
  /** Since 1970; negative before. */
  readonly seconds: number;
  /** 0 to 999,999,999. */
  readonly nanoseconds: number;
}

export interface DirectoryRecord {
  readonly type: 'directory';
  readonly index: number;
  readonly mode: number;
  readonly time: Timestamp;
  readonly path: Buffer;
}

export interface FileBeginRecord {
  readonly type: 'fileBegin';
  readonly index: number;
  readonly mode: number;
  readonly time: Timestamp;
  readonly size: number;
  readonly path: Buffer;
}

/** `data` is a view of the message, not a copy. */
export interface DataRecord {
  readonly type: 'data';
  readonly index: number;
  readonly offset: number;
  readonly data: Buffer;
}

/** As `DataRecord`, compressed. */
export interface PackedRecord {
  readonly type: 'packed';
  readonly index: number;
  readonly offset: number;
  /** Bytes of the file. */
  readonly length: number;
  readonly codec: Codec;
  readonly data: Buffer;
}

export interface HoleRecord {
  readonly type: 'hole';
  readonly index: number;
  readonly offset: number;
  readonly length: number;
}

/** Bytes that receivers take from their older file, at the same offset. */
export interface KeepRecord {
  readonly type: 'keep';
  readonly index: number;
  readonly offset: number;
  readonly length: number;
}

export interface FileEndRecord {
  readonly type: 'fileEnd';
  readonly index: number;
  readonly status: FileStatusValue;
  readonly digest: Buffer;
}

export interface SymbolicLinkRecord {
  readonly type: 'symbolicLink';
  readonly index: number;
  readonly time: Timestamp;
  readonly path: Buffer;
  readonly target: Buffer;
}

export interface HardLinkRecord {
  readonly type: 'hardLink';
  readonly index: number;
  readonly targetIndex: number;
  readonly path: Buffer;
  readonly targetPath: Buffer;
}

/** Totals of the stream, without entries that the sender could not read. */
export interface StreamTotals {
  /** Files begun, including those given up later. */
  readonly files: number;
  readonly directories: number;
  readonly symbolicLinks: number;
  readonly hardLinks: number;
  /** Sum of the sizes of complete files. */
  readonly bytes: number;
}

export interface StreamEndRecord extends StreamTotals {
  readonly type: 'streamEnd';
}

/** The end of a message whose bytes can be checked by themselves. */
export interface CheckRecord {
  readonly type: 'check';
  /** Different for each message that the sender fills. */
  readonly number: number;
  readonly digest: Buffer;
}

export type StreamRecord =
  | DirectoryRecord
  | FileBeginRecord
  | DataRecord
  | PackedRecord
  | HoleRecord
  | KeepRecord
  | FileEndRecord
  | SymbolicLinkRecord
  | HardLinkRecord
  | StreamEndRecord
  | CheckRecord;
