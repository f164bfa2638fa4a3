/**
 * A snapshot is a directory. Each server's slots are in a file of blocks; the manifest is written last, so a directory without it is
 * an unfinished snapshot. All numbers are little endian.
 *
 * ```
 * NAME.kvsnap   = "RDMCKVSN", u32 format, u32 server, u8[16] snapshot, blocks
 * block         = u32 length, u32 CRC-32 of the sections, sections        ./sections.ts
 * snapshot.json = { format, snapshot, createdAt, keys, files: [{ name, bytes, sha256 }] }
 * ```
 *
 * Files are written under a temporary name, synced, and renamed.
 */
import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { type FileHandle, open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { list, openRecord, pattern, readShape, type Shaped, text, whole } from '@rdmc/common/shapes';
import { KvError, messageOf } from '../errors.js';
import { writeDurably } from '../write-durably.js';
import { type Section, sectionsIn } from './sections.js';

export const SNAPSHOT_FORMAT = 1;
export const MANIFEST_NAME = 'snapshot.json';
const MAGIC = 'RDMCKVSN';
const HEADER_BYTES = 32;
const BLOCK_HEADER_BYTES = 8;
/** A block is a page: a hash is whole in it. */
const MAX_BLOCK_BYTES = 2 ** 31 - 1;

const formatOnly = openRecord({ format: whole() });
export const manifest = openRecord({
  format: whole(),
  /** Hexadecimal. */
  snapshot: pattern(/^[0-9a-f]{32}$/),
  createdAt: text(),
  keys: whole(),
  files: list(
    openRecord({ name: pattern(/^server-\d+\.kvsnap$/), bytes: whole(), sha256: pattern(/^[0-9a-f]{64}$/) }),
  ),
});
export type Manifest = Shaped<typeof manifest>;

export function fileNameOf(server: number): string {
  return `server-${server}.kvsnap`;
}

/** Writes the file of one server. */
export class SnapshotFileWriter {
  readonly #hash = createHash('sha256');
  #bytes = 0;

  private constructor(
    private readonly file: FileHandle,
    private readonly path: string,
    private readonly name: string,
  ) {}

  static async create(directory: string, server: number, snapshot: string): Promise<SnapshotFileWriter> {
    const name = fileNameOf(server);
    const path = join(directory, name);
    const writer = new SnapshotFileWriter(await open(`${path}.tmp`, 'w', 0o600), path, name);
    const header = Buffer.alloc(HEADER_BYTES);
    header.write(MAGIC, 0, 'latin1');
    header.writeUInt32LE(SNAPSHOT_FORMAT, 8);
    header.writeUInt32LE(server, 12);
    header.write(snapshot, 16, 'hex');
    await writer.#write(header);
    return writer;
  }

  async add(sections: Buffer): Promise<void> {
    if (sections.length === 0) return;
    const header = Buffer.alloc(BLOCK_HEADER_BYTES);
    header.writeUInt32LE(sections.length, 0);
    header.writeUInt32LE(crc32(sections), 4);
    await this.#write(Buffer.concat([header, sections]));
  }

  /** Gives the file its name, durably once the directory is synced. */
  async finish(): Promise<Manifest['files'][number]> {
    await this.file.sync();
    await this.file.close();
    await rename(`${this.path}.tmp`, this.path);
    return { name: this.name, bytes: this.#bytes, sha256: this.#hash.digest('hex') };
  }

  async abandon(): Promise<void> {
    await this.file.close().catch(() => {});
  }

  async #write(bytes: Buffer): Promise<void> {
    await this.file.writeFile(bytes);
    this.#hash.update(bytes);
    this.#bytes += bytes.length;
  }
}

/** Writes the manifest, and makes all names durable. */
export async function writeManifest(directory: string, content: Manifest): Promise<void> {
  await writeDurably(join(directory, MANIFEST_NAME), `${JSON.stringify(content, undefined, 2)}\n`);
}

/** @throws KvError ERR_RDMC_KV_SNAPSHOT_INCOMPLETE: there is none; ERR_RDMC_KV_SNAPSHOT_FOREIGN, ERR_RDMC_KV_SNAPSHOT_DAMAGED */
export async function readManifest(directory: string): Promise<Manifest> {
  const path = join(directory, MANIFEST_NAME);
  const content = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    throw incomplete(
      `${directory} does not have the file ${MANIFEST_NAME}: it is not a snapshot, or an unfinished one`,
    );
  });
  let parsed: unknown;
  try {
    parsed = JSON.parse(content);
    const { format } = readShape(formatOnly, parsed);
    if (format !== SNAPSHOT_FORMAT)
      throw foreign(path, `has format ${format}; this program reads format ${SNAPSHOT_FORMAT}`);
    return readShape(manifest, parsed);
  } catch (error) {
    throw error instanceof KvError ? error : damaged(path, messageOf(error));
  }
}

/** A section, and where its records are in its file. */
export type PlacedSection = Omit<Section, 'records'> & { readonly position: number; readonly length: number };

/**
 * Reads a whole file, and compares it with its checksums and the manifest; yields each section.
 * @throws KvError ERR_RDMC_KV_SNAPSHOT_INCOMPLETE, ERR_RDMC_KV_SNAPSHOT_FOREIGN, ERR_RDMC_KV_SNAPSHOT_DAMAGED
 */
export async function* checkedSections(
  directory: string,
  { name, bytes, sha256 }: Manifest['files'][number],
  snapshot: string,
): AsyncGenerator<PlacedSection, void> {
  const path = join(directory, name);
  const file = await openFile(path);
  try {
    const { size } = await file.stat();
    if (size !== bytes) throw damaged(path, `it has ${size} bytes, and the manifest says ${bytes}`);
    const hash = createHash('sha256');
    const take = async (length: number, at: number): Promise<Buffer> => {
      const read = await readAt(file, path, length, at);
      hash.update(read);
      return read;
    };
    requireHeader(path, await take(HEADER_BYTES, 0), snapshot);
    for (let at = HEADER_BYTES; at < size; ) {
      const header = await take(BLOCK_HEADER_BYTES, at);
      const [length, checksum] = [header.readUInt32LE(0), header.readUInt32LE(4)];
      at += BLOCK_HEADER_BYTES;
      if (length > MAX_BLOCK_BYTES || length > size - at)
        throw damaged(path, `a block of ${length} bytes at ${at}`);
      const sections = await take(length, at);
      if (crc32(sections) !== checksum) throw damaged(path, `the block at ${at} does not match its checksum`);
      for (const { records, offset, ...section } of sectionsIn(sections)) {
        const position = at + (records.byteOffset - sections.byteOffset);
        yield { ...section, position, length: records.length };
      }
      at += length;
    }
    if (hash.digest('hex') !== sha256) throw damaged(path, 'it does not match the checksum in the manifest');
  } finally {
    await file.close();
  }
}

/** @throws KvError ERR_RDMC_KV_SNAPSHOT_DAMAGED */
export async function readAt(file: FileHandle, path: string, length: number, at: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  const { bytesRead } = await file.read(buffer, 0, length, at);
  if (bytesRead < length) throw damaged(path, `it ends before byte ${at + length}`);
  return buffer;
}

/** @throws KvError ERR_RDMC_KV_SNAPSHOT_INCOMPLETE */
export async function openFile(path: string): Promise<FileHandle> {
  return open(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    throw incomplete(`the file ${path} of this snapshot is missing`);
  });
}

function requireHeader(path: string, header: Buffer, snapshot: string): void {
  if (header.toString('latin1', 0, 8) !== MAGIC) throw foreign(path, 'is not a file of a snapshot');
  const format = header.readUInt32LE(8);
  if (format !== SNAPSHOT_FORMAT)
    throw foreign(path, `has format ${format}; this program reads format ${SNAPSHOT_FORMAT}`);
  if (header.toString('hex', 16, 32) !== snapshot) throw foreign(path, 'belongs to another snapshot');
}

export function incomplete(message: string): KvError {
  return new KvError('ERR_RDMC_KV_SNAPSHOT_INCOMPLETE', message);
}

function foreign(path: string, how: string): KvError {
  return new KvError('ERR_RDMC_KV_SNAPSHOT_FOREIGN', `${path} ${how}`);
}

function damaged(path: string, how: string): KvError {
  return new KvError('ERR_RDMC_KV_SNAPSHOT_DAMAGED', `${path} is damaged: ${how}`);
}
