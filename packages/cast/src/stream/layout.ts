/**
 * The stream: the content of the messages of a cast. Every message is self-contained: a header, and records behind it
 * without gaps. All integers are little endian.
 *
 * Message header
 *
 *   byte  0       4         6      8          16             24         28
 *         +-------+---------+------+----------+--------------+----------+--------+----------
 *         | magic | version | zero | sequence | payloadBytes | records  | crc32  | records…
 *         | RDMC  |   u16   | u16  |   u64    |     u64      |   u32    |  u32   |
 *         +-------+---------+------+----------+--------------+----------+--------+----------
 *   sequence counts the messages of the cast from 0; payloadBytes counts the bytes after the header; crc32 (zlib) is that of
 *   the 28 bytes before it.
 *
 * Record
 *
 *   byte  0        4      5      8            12          16            16 + fieldBytes
 *         +--------+------+------+------------+-----------+-------------+------------
 *         | crc32  | type | zero | fieldBytes | dataBytes | fields…     | data…
 *         |  u32   |  u8  | 3 B  |    u32     |    u32    |             |
 *         +--------+------+------+------------+-----------+-------------+------------
 *   crc32 is that of bytes 4 to 16 + fieldBytes. It does not cover data: the digest of the file does.
 *   Only DATA, ZSTD and DEFLATE have data.
 *
 *   type              fields
 *    1 DIRECTORY      u32 index | u32 mode | time | path
 *    2 FILE_BEGIN     u32 index | u32 mode | time | u64 size | path
 *    3 DATA           u32 index | u32 zero | u64 offset                      data: the file's bytes from offset on
 *    4 HOLE           u32 index | u32 zero | u64 offset | u64 length         zeros, which need not be written
 *    5 FILE_END       u32 index | u32 status | 32 bytes: digest of the file, see content-digest.ts (zeros unless status is 0)
 *    6 SYMBOLIC_LINK  u32 index | u32 pathBytes | time | path | target
 *    7 HARD_LINK      u32 index | u32 targetIndex | u32 pathBytes | u32 zero | path | path of the entry it is linked to
 *    8 STREAM_END     u32 files | u32 directories | u32 symbolicLinks | u32 hardLinks | u64 bytes
 *    9 KEEP           u32 index | u32 zero | u64 offset | u64 length         not sent: the same bytes are in older files
 *   10 ZSTD           u32 index | u32 length | u64 offset                    data: the file's next `length` bytes, compressed
 *   11 DEFLATE        the same, compressed with DEFLATE without a header (RFC 1951)
 *   15 CHECK          u32 number | u32 zero | 32 bytes: digest of the records before it, see message-check.ts
 *
 *   time   is i64 seconds | u32 nanoseconds | u32 zero: the modification time
 *   mode   is the permission bits
 *   path   is raw bytes, components joined by '/', without one at either end
 *   status is 0 where the file is complete, 1 where it changed while it was read, 2 where reading failed; with 1 and 2
 *          the receiver discards its data
 *
 * A size of UNKNOWN_SIZE means that the sender does not know it: the file ends with its FILE_END. A CHECK is the last record
 * of its message; messages have one where a receiver of the cast passes bytes on before it has the whole file.
 *
 * A piece of a file that is compressed has 1 to CHUNK_BYTES bytes, and fewer in its record. The digest of the file covers the
 * bytes before compression, that of a CHECK the bytes of the record. A sender compresses as all its receivers can decompress.
 *
 * Indices grow from entry to entry; an entry that could not be opened is not in the stream. DATA, HOLE, KEEP, ZSTD and DEFLATE of a file
 * follow each other without gaps or overlaps, between its FILE_BEGIN and its FILE_END, with nothing else in between. A
 * FILE_END with status 1 or 2 may also be repeated, or come without a FILE_BEGIN: after survivors have regrouped, a
 * file that has changed meanwhile is given up in every message it was part of.
 *
 * A range of KEEP is one that every receiver which needs the file from this stream has at the same offset of its older
 * file (see delta/blocks.ts). The digest of FILE_END covers its bytes as those of DATA, also where they are zeros.
 */
export const MAGIC = 0x434d_4452;

export const MESSAGE_HEADER_BYTES = 32;
export const VERSION_AT = 4;
export const HEADER_ZERO_AT = 6;
export const SEQUENCE_AT = 8;
export const PAYLOAD_AT = 16;
export const RECORDS_AT = 24;
export const HEADER_CRC_AT = 28;

export const RECORD_HEADER_BYTES = 16;
export const TYPE_AT = 4;
export const FIELD_BYTES_AT = 8;
export const DATA_BYTES_AT = 12;

export const TIME_BYTES = 16;
export const DIGEST_BYTES = 32;

/** Bytes of the fields of each type, without paths. */
export const FixedBytes = {
  DIRECTORY: 8 + TIME_BYTES,
  FILE_BEGIN: 8 + TIME_BYTES + 8,
  DATA: 16,
  PACKED: 16,
  HOLE: 24,
  FILE_END: 8 + DIGEST_BYTES,
  SYMBOLIC_LINK: 8 + TIME_BYTES,
  HARD_LINK: 16,
  STREAM_END: 24,
  KEEP: 24,
  CHECK: 8 + DIGEST_BYTES,
} as const;

export const RecordType = {
  DIRECTORY: 1,
  FILE_BEGIN: 2,
  DATA: 3,
  HOLE: 4,
  FILE_END: 5,
  SYMBOLIC_LINK: 6,
  HARD_LINK: 7,
  STREAM_END: 8,
  KEEP: 9,
  ZSTD: 10,
  DEFLATE: 11,
  CHECK: 15,
} as const;

/** The size of a file whose length is not known when it begins; no file is that long. */
export const UNKNOWN_SIZE = Number.MAX_SAFE_INTEGER;
/** A CHECK with its record header. */
export const CHECK_RECORD_BYTES = RECORD_HEADER_BYTES + FixedBytes.CHECK;

export const FileStatus = { WHOLE: 0, CHANGED: 1, UNREADABLE: 2 } as const;
export type FileStatusValue = (typeof FileStatus)[keyof typeof FileStatus];

/**
 * Kept free in a message that is filled for the first time. When it is filled again, the FILE_END of a file that was
 * given up since may need more room than the records it replaces: at most for the first and for the last file in the
 * message.
 */
export const REPLAY_SLACK_BYTES = 128;
