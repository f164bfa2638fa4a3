/**
 * The manifest: the list of entries of a cast, in the order of their indices, in pieces. A piece is compressed
 * (raw deflate). Its entries follow each other without gaps. All integers are little endian.
 *
 *   byte  0      1       2      4           6             8             12     20        28     32
 *         +------+-------+------+-----------+-------------+-------------+------+---------+------+------+--------+--------+-----------
 *         | kind | flags | mode | pathBytes | targetBytes | targetIndex | size | seconds | nano | path | target | digest | attributes
 *         |  u8  |  u8   | u16  |    u16    |     u16     |     u32     | u64  |   i64   | u32  |      |        |  32 B  |
 *         +------+-------+------+-----------+-------------+-------------+------+---------+------+------+--------+--------+-----------
 *
 *   kind    1 directory, 2 file, 3 symbolic link, 4 hard link
 *   flags   1: the digest of a file's contents follows the target; 2, in an archive cast: attributes follow that, see
 *           `archive/layout.ts`
 *   target  of a symbolic link: where it points; of a hard link: the path of the entry with index targetIndex
 *   time    seconds and nano; of a hard link: that of the file it is linked to
 *
 * Fields that a kind does not have are zero.
 */
export const ENTRY_BYTES = 32;
export const AT = {
  KIND: 0,
  FLAGS: 1,
  MODE: 2,
  PATH_BYTES: 4,
  TARGET_BYTES: 6,
  TARGET_INDEX: 8,
  SIZE: 12,
  SECONDS: 20,
  NANOSECONDS: 28,
} as const;

export const EntryKind = { directory: 1, file: 2, symbolicLink: 3, hardLink: 4 } as const;
export const HAS_DIGEST = 1;
export const HAS_ATTRIBUTES = 2;
