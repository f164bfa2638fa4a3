/**
 * What an archive cast tells about an entry beside mode and time: a block behind its digest in the manifest, in pieces of
 * `manifest/layout.ts`. It goes from the sender to each receiver over their control connection, and never through another
 * receiver. All integers are little endian.
 *
 *   byte  0       4       8       12        14          15           16
 *         +-------+-------+-------+---------+-----------+------------+------+-------+----------
 *         | bytes |  uid  |  gid  | special | userBytes | groupBytes | user | group | extended…
 *         |  u32  |  u32  |  u32  |   u16   |    u8     |     u8     |      |       |
 *         +-------+-------+-------+---------+-----------+------------+------+-------+----------
 *
 *   bytes        length of the block
 *   uid, gid     at the sender
 *   special      set-user-id (0o4000), set-group-id (0o2000) and sticky (0o1000), of the mode
 *   user, group  their names at the sender; empty where only the numbers count, or where it has no names
 *   extended     attributes (xattr(7)) of a file or directory, sorted by name; nothing where it has none:
 *
 *   byte  0           2            6      6 + nameBytes
 *         +-----------+------------+------+-------
 *         | nameBytes | valueBytes | name | value
 *         |    u16    |    u32     |      |
 *         +-----------+------------+------+-------
 *
 * Hard links do not have one: they have that of their file.
 */
import { MAX_EXTENDED_BYTES } from './extended-attributes.js';

export const BLOCK_AT = {
  BYTES: 0,
  UID: 4,
  GID: 8,
  SPECIAL: 12,
  USER_BYTES: 14,
  GROUP_BYTES: 15,
} as const;
/** Bytes before the names. */
export const LEAST_BLOCK_BYTES = 16;
/** Longest name of a user or a group. */
export const MAX_ACCOUNT_BYTES = 255;
/** Most bytes of a block. */
export const MAX_BLOCK_BYTES = LEAST_BLOCK_BYTES + 2 * MAX_ACCOUNT_BYTES + MAX_EXTENDED_BYTES;
/** The largest id; the next number means "do not change" to the kernel. */
export const MAX_ACCOUNT_ID = 0xffff_fffe;

/** Bits of a mode that an archive cast carries beside the permission bits. */
export const SPECIAL_MODE_MASK = 0o7000;
/** Those that make a file run with the rights of its owner or group. */
export const SET_USER_ID = 0o4000;
export const SET_GROUP_ID = 0o2000;
