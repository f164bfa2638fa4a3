import { protocolError } from '../errors.js';
import { decodeExtended, type ExtendedAttribute, encodeExtended } from './extended-attributes.js';
import {
  BLOCK_AT,
  LEAST_BLOCK_BYTES,
  MAX_ACCOUNT_BYTES,
  MAX_ACCOUNT_ID,
  MAX_BLOCK_BYTES,
  SPECIAL_MODE_MASK,
} from './layout.js';

/** What an archive cast tells about an entry. */
export interface EntryAttributes {
  /** Ids at the sender. */
  readonly uid: number;
  readonly gid: number;
  /** Set-user-id, set-group-id and sticky, of the mode. */
  readonly special: number;
  /** Names at the sender, as latin1; empty where only the ids count. */
  readonly user: string;
  readonly group: string;
  /** Sorted by name. */
  readonly extended: readonly ExtendedAttribute[];
}

// Characters that cannot be in a file of accounts, and control characters.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
const IMPOSSIBLE_NAME = /[\0-\x1f\x7f:]/;

/** Whether a name of a user or group can be told. */
export function isAccountName(name: string): boolean {
  return name !== '' && name.length <= MAX_ACCOUNT_BYTES && !IMPOSSIBLE_NAME.test(name);
}

/** The block that is drawn in `layout.ts`. */
export function encodeAttributes({ uid, gid, special, user, group, extended }: EntryAttributes): Buffer {
  const names = Buffer.from(user + group, 'latin1');
  const list = encodeExtended(extended);
  const block = Buffer.alloc(LEAST_BLOCK_BYTES + names.length + list.length);
  block.writeUInt32LE(block.length, BLOCK_AT.BYTES);
  block.writeUInt32LE(uid, BLOCK_AT.UID);
  block.writeUInt32LE(gid, BLOCK_AT.GID);
  block.writeUInt16LE(special, BLOCK_AT.SPECIAL);
  block[BLOCK_AT.USER_BYTES] = user.length;
  block[BLOCK_AT.GROUP_BYTES] = group.length;
  names.copy(block, LEAST_BLOCK_BYTES);
  list.copy(block, LEAST_BLOCK_BYTES + names.length);
  return block;
}

/** Length of the block at the beginning of `bytes`. @throws CastError ERR_RDMC_CAST_PROTOCOL where it is not there */
export function attributesLength(bytes: Buffer): number {
  if (bytes.length < LEAST_BLOCK_BYTES) throw wrong('end within an entry');
  const length = bytes.readUInt32LE(BLOCK_AT.BYTES);
  if (length < LEAST_BLOCK_BYTES || length > MAX_BLOCK_BYTES) throw wrong('have an impossible length');
  if (length > bytes.length) throw wrong('end within an entry');
  return length;
}

/** Checks a block of that length. @throws CastError ERR_RDMC_CAST_PROTOCOL */
export function decodeAttributes(block: Buffer): EntryAttributes {
  const uid = block.readUInt32LE(BLOCK_AT.UID);
  const gid = block.readUInt32LE(BLOCK_AT.GID);
  if (uid > MAX_ACCOUNT_ID || gid > MAX_ACCOUNT_ID) throw wrong('have an impossible owner');
  const special = block.readUInt16LE(BLOCK_AT.SPECIAL);
  if ((special & ~SPECIAL_MODE_MASK) !== 0) throw wrong('have impossible mode bits');
  const userEnd = LEAST_BLOCK_BYTES + block[BLOCK_AT.USER_BYTES]!;
  const groupEnd = userEnd + block[BLOCK_AT.GROUP_BYTES]!;
  if (groupEnd > block.length) throw wrong('are shorter than their names');
  const user = block.toString('latin1', LEAST_BLOCK_BYTES, userEnd);
  const group = block.toString('latin1', userEnd, groupEnd);
  if (![user, group].every((name) => name === '' || isAccountName(name)))
    throw wrong('have an impossible name of a user or group');
  const extended = decodeExtended(block.subarray(groupEnd));
  return { uid, gid, special, user, group, extended };
}

function wrong(what: string) {
  return protocolError(`the attributes of an entry ${what}`);
}
