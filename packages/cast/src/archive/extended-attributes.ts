import { protocolError } from '../errors.js';

/** An extended attribute of a file or directory (xattr(7)). */
export interface ExtendedAttribute {
  /** With its namespace: 'user.comment'. */
  readonly name: string;
  readonly value: Buffer;
}

/** Longest name and value of an attribute in Linux. */
const MAX_NAME_BYTES = 255;
const MAX_VALUE_BYTES = 65_536;
/** Most bytes of all attributes of an entry, with their lengths: they must fit into a piece of the manifest. */
export const MAX_EXTENDED_BYTES = 256 * 1024;
const HEADER_BYTES = 6;

const ACCESS_LISTS: ReadonlySet<string> = new Set(['system.posix_acl_access', 'system.posix_acl_default']);
const CAPABILITY = 'security.capability';

/** Attributes that give a file rights of another user: only root sets them. */
function isPrivileged(name: string): boolean {
  return name === CAPABILITY || name.startsWith('trusted.');
}

/**
 * Whether an attribute is told and set: user.*, access control lists (POSIX), file capabilities and trusted.*. Others, as labels of
 * SELinux, belong to the host.
 * @param isRoot whether the process may set those that give rights
 */
export function isCarried(name: string, isRoot: boolean): boolean {
  return name.startsWith('user.') || ACCESS_LISTS.has(name) || (isRoot && isPrivileged(name));
}

/** Whether a file with these attributes runs with more rights than those of its caller. */
export function givesRights(attributes: readonly ExtendedAttribute[]): boolean {
  return attributes.some(({ name }) => name === CAPABILITY);
}

export function isSameExtended(a: readonly ExtendedAttribute[], b: readonly ExtendedAttribute[]): boolean {
  return (
    a.length === b.length &&
    a.every(({ name, value }, at) => name === b[at]!.name && value.equals(b[at]!.value))
  );
}

/** The list that is drawn in `layout.ts`, sorted by name. */
export function encodeExtended(attributes: readonly ExtendedAttribute[]): Buffer {
  const parts = attributes.flatMap(({ name, value }) => {
    const header = Buffer.alloc(HEADER_BYTES);
    header.writeUInt16LE(Buffer.byteLength(name), 0);
    header.writeUInt32LE(value.length, 2);
    return [header, Buffer.from(name), value];
  });
  return Buffer.concat(parts);
}

/** @throws CastError ERR_RDMC_CAST_PROTOCOL */
export function decodeExtended(bytes: Buffer): ExtendedAttribute[] {
  const attributes: ExtendedAttribute[] = [];
  for (let at = 0; at < bytes.length; ) {
    if (bytes.length - at < HEADER_BYTES) throw wrong('end within their lengths');
    const nameBytes = bytes.readUInt16LE(at);
    const valueBytes = bytes.readUInt32LE(at + 2);
    const nameAt = at + HEADER_BYTES;
    const valueAt = nameAt + nameBytes;
    if (nameBytes === 0 || nameBytes > MAX_NAME_BYTES || valueBytes > MAX_VALUE_BYTES)
      throw wrong('have an impossible length');
    if (valueBytes > bytes.length - valueAt) throw wrong('end within one');
    const name = bytes.toString('utf8', nameAt, valueAt);
    const isValid = Buffer.from(name).equals(bytes.subarray(nameAt, valueAt)) && isCarried(name, true);
    if (!isValid || name.includes('\0')) throw wrong('have a name that is not carried');
    const last = attributes.at(-1);
    if (last && !(last.name < name)) throw wrong('are not in order');
    attributes.push({ name, value: Buffer.from(bytes.subarray(valueAt, valueAt + valueBytes)) });
    at = valueAt + valueBytes;
  }
  return attributes;
}

function wrong(what: string) {
  return protocolError(`the extended attributes of an entry ${what}`);
}
