import type { DataRecord, PackedRecord } from '../stream/records.js';
import { decompress } from './codec.js';

/** Bytes of a file in a record. */
export type ContentRecord = DataRecord | PackedRecord;

/** How many bytes of the file a record has. */
export function contentLength(record: ContentRecord): number {
  return record.type === 'packed' ? record.length : record.data.length;
}

/** The bytes of the file: a view of the message, or a copy where they are compressed. @throws CastError ERR_RDMC_DECOMPRESS_FAILED */
export function contentOf(record: ContentRecord): Buffer {
  return record.type === 'packed' ? decompress(record.codec, record.data, record.length) : record.data;
}
