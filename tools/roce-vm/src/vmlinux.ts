import { spawnSync } from 'node:child_process';
import { RoceVmError } from './errors.js';

/*
 * Of a bzImage (Linux x86 boot protocol, Documentation/arch/x86/boot.rst), little endian:
 *   0x1f1 u8  setup_sects     sectors of 512 bytes after the first; the protected-mode part follows
 *   0x202 "HdrS"
 *   0x206 u16 version         2.08 or newer has the next two
 *   0x248 u32 payload_offset  from the beginning of the protected-mode part
 *   0x24c u32 payload_length  the compressed ELF file, and 4 bytes with its size
 */
const SETUP_SECTS = 0x1f1;
const MAGIC = 0x202;
const VERSION = 0x206;
const PAYLOAD_OFFSET = 0x248;
const PAYLOAD_LENGTH = 0x24c;
const SIZE_BYTES = 4;

const FORMATS: readonly (readonly [magic: string, command: string])[] = [
  ['fd377a585a00', 'xz'],
  ['28b52ffd', 'zstd'],
  ['1f8b', 'gzip'],
];

function unfit(message: string): RoceVmError {
  return new RoceVmError('ERR_RDMC_ROCE_VM_KERNEL_UNFIT', `the kernel image ${message}`);
}

/**
 * The ELF file in a bzImage. Given that, the emulator need not emulate the decompression, which takes seconds.
 * @throws RoceVmError ERR_RDMC_ROCE_VM_KERNEL_UNFIT
 */
export function vmlinuxOf(image: Buffer): Buffer {
  if (image.length < 0x260 || image.toString('latin1', MAGIC, MAGIC + 4) !== 'HdrS') {
    throw unfit('is no bzImage');
  }
  if (image.readUInt16LE(VERSION) < 0x208) throw unfit('is of a boot protocol before 2.08');
  const start = (image.readUInt8(SETUP_SECTS) + 1) * 512 + image.readUInt32LE(PAYLOAD_OFFSET);
  const payload = image.subarray(start, start + image.readUInt32LE(PAYLOAD_LENGTH) - SIZE_BYTES);
  const found = FORMATS.find(([magic]) => payload.toString('hex', 0, magic.length / 2) === magic);
  if (!found) throw unfit(`is compressed in a way not known here (${payload.toString('hex', 0, 6)})`);
  const done = spawnSync(found[1], ['-dc'], { input: payload, maxBuffer: 1 << 30 });
  if (done.status !== 0) throw unfit(`cannot be unpacked: ${done.error?.message ?? done.stderr.toString()}`);
  if (done.stdout.toString('latin1', 1, 4) !== 'ELF') throw unfit('holds no ELF file');
  return done.stdout;
}
