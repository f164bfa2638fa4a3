/**
 * Named shared memory: files in /dev/shm, all of mode 0600, which other processes of the same user open and map.
 *
 *   NAME                   the index of the latest cast; it gets this name when its header is written
 *   NAME.rdmc-CAST-NUMBER  the contents of one file of that cast, at the same offsets, as long as the file. CAST is the id of
 *                          the cast, NUMBER counts its files. Bytes that are not wanted are holes (zeros).
 *   NAME.rdmc-owner        the process that receives, as JSON (see `ownIdentity` of @rdmc/common)
 *
 * A process reads of the contents only what the index says to be whole. The index is INDEX_BYTES long; what is not
 * written yet is a hole. Integers are little endian.
 *
 *   byte  0        8         12      16
 *         +--------+---------+-------+--------+--------+------
 *         | magic  | version | state | record | record | …       records follow each other without gaps
 *         | 8 B    |   u32   |  u32  |        |        |
 *         +--------+---------+-------+--------+--------+------
 *   state   0 files arrive, 1 the cast is whole, 2 it has failed, 3 another cast or the end of the receiver has replaced it.
 *           With 2 and 3 the files have lost their names; a process that has mapped one keeps it.
 *
 *   Record, at a multiple of 8
 *
 *   byte  0       4       8
 *         +-------+-------+----------------------------
 *         | state | bytes | JSON, UTF-8, and zeros up to a multiple of 8
 *         |  u32  |  u32  |
 *         +-------+-------+----------------------------
 *   state   1: the record is complete, and what it says is whole. It is written last; until then it is 0.
 *   bytes   of the JSON
 *   JSON    {"type":"tensor","path","segment","name","dtype","shape","begin","end"}  a tensor is whole: bytes of the segment
 *           {"type":"file","path","segment","size","ranges"}                         all that is wanted of a file is whole
 *           {"type":"failed","path","segment","code","message"}                      it will not be; the segment has no name
 *
 * The values of both states fit into one byte, so that no reader sees half of a new value.
 */
export const SHARED_DIRECTORY = '/dev/shm';
export const INDEX_BYTES = 64 * 1024 * 1024;
export const INDEX_MAGIC = Buffer.from('RDMCSHM1', 'latin1');
export const INDEX_VERSION = 1;
export const INDEX_VERSION_AT = 8;
export const INDEX_STATE_AT = 12;
export const RECORDS_AT = 16;
export const RECORD_STATE_AT = 0;
export const RECORD_BYTES_AT = 4;
export const RECORD_HEADER_BYTES = 8;
export const RECORD_ALIGNMENT = 8;

export const IndexState = { ARRIVING: 0, WHOLE: 1, FAILED: 2, REPLACED: 3 } as const;
export type IndexStateValue = (typeof IndexState)[keyof typeof IndexState];
export const RECORD_COMPLETE = 1;

/** What comes behind a name, in the names of everything but the index. */
export const PART_SUFFIX = '.rdmc-';
export const OWNER_SUFFIX = `${PART_SUFFIX}owner`;
/** Names have at most this many characters, so that all names made of them are possible. */
export const MAX_SHARED_NAME = 100;
