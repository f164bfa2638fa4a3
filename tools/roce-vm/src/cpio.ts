/*
 * An archive of the "newc" kind, which the kernel unpacks as its first file system: per file a header of 6 + 13·8
 * characters in hexadecimal, the name with a zero byte, and the content, the latter two padded to 4 bytes.
 * (Linux Documentation/driver-api/early-userspace/buffer-format.rst)
 */
const MAGIC = '070701';
const DIRECTORY = 0o040755;
const PROGRAM = 0o100755;
const END = 'TRAILER!!!';

export interface Entry {
  /** Without a leading slash; directories above it must come before it. */
  readonly name: string;
  /** Absent: a directory. */
  readonly content?: Buffer;
}

function padded(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)]);
}

function record(inode: number, mode: number, name: string, content: Buffer): Buffer {
  const fields = [inode, mode, 0, 0, 1, 0, content.length, 0, 0, 0, 0, name.length + 1, 0];
  const header = MAGIC + fields.map((field) => field.toString(16).padStart(8, '0')).join('');
  return Buffer.concat([padded(Buffer.from(`${header}${name}\0`, 'latin1')), padded(content)]);
}

/** The archive of these entries. Several, one after the other, are unpacked one over the other. */
export function cpio(entries: readonly Entry[]): Buffer {
  const records = entries.map(({ name, content }, index) =>
    record(index + 1, content ? PROGRAM : DIRECTORY, name, content ?? Buffer.alloc(0)),
  );
  return Buffer.concat([...records, record(0, 0, END, Buffer.alloc(0))]);
}
