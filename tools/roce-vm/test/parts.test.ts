import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { temporaryDirectory } from '@rdmc/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { cacheDirectory, cached, fill } from '../src/cache.js';
import { parseArguments } from '../src/cli/arguments.js';
import { cpio } from '../src/cpio.js';
import { ModuleIndex, withoutSignature } from '../src/modules.js';
import { checked } from '../src/options.js';
import { quote } from '../src/quote.js';
import { makeRunDirectory } from '../src/run-directory.js';
import { vmlinuxOf } from '../src/vmlinux.js';

const directory = (): string => temporaryDirectory('roce-vm-test');

/** A bzImage with that payload, of two setup sectors. */
function image(payload: Buffer): Buffer {
  const bytes = Buffer.alloc(3 * 512 + 64 + payload.length + 4);
  bytes.writeUInt8(2, 0x1f1);
  bytes.write('HdrS', 0x202);
  bytes.writeUInt16LE(0x20f, 0x206);
  bytes.writeUInt32LE(64, 0x248);
  bytes.writeUInt32LE(payload.length + 4, 0x24c);
  payload.copy(bytes, 3 * 512 + 64);
  return bytes;
}

describe('the kernel in a bzImage', () => {
  const elf = Buffer.from('\x7fELF and the rest of it');

  it('is found and unpacked', () => {
    expect(vmlinuxOf(image(gzipSync(elf)))).toEqual(elf);
  });

  it.each([
    ['no image', Buffer.from('short'), /no bzImage/],
    ['an unknown compression', image(Buffer.from('0123456789')), /not known here \(303132333435\)/],
    ['garbage behind the magic', image(Buffer.from([0x1f, 0x8b, 1, 2, 3])), /cannot be unpacked/],
    ['something else inside', image(gzipSync(Buffer.from('text'))), /no ELF file/],
  ])('%s is refused', (_what, bytes, message) => {
    expect(() => vmlinuxOf(bytes)).toThrow(message);
    expect(() => vmlinuxOf(bytes)).toThrow(
      expect.objectContaining({ code: 'ERR_RDMC_ROCE_VM_KERNEL_UNFIT' }),
    );
  });
});

describe('modules', () => {
  it('come after what they need, once each; those built in need no file', () => {
    const path = directory();
    writeFileSync(
      join(path, 'modules.dep'),
      'k/rdma-rxe.ko: k/ib_core.ko k/udp.ko\nk/ib_core.ko:\nk/udp.ko.xz:\nk/veth.ko: k/udp.ko\n',
    );
    writeFileSync(join(path, 'modules.builtin'), 'kernel/net/bridge.ko\n');
    const index = new ModuleIndex(path);
    expect(index.inOrder(['rdma_rxe', 'bridge', 'veth'])).toEqual([
      'k/udp.ko',
      'k/ib_core.ko',
      'k/rdma-rxe.ko',
      'k/veth.ko',
    ]);
    expect(() => index.inOrder(['siw'])).toThrow(/no module siw/);
  });

  it('lose their signature, and only that', () => {
    const content = Buffer.from('the module');
    const length = Buffer.alloc(12);
    length.writeUInt32BE(5, 8);
    const signed = Buffer.concat([
      content,
      Buffer.from('SIGNE'),
      length,
      Buffer.from('~Module signature appended~\n'),
    ]);
    expect(withoutSignature(signed)).toEqual(content);
    expect(withoutSignature(content)).toEqual(content);
  });
});

it('an archive is one that busybox reads', () => {
  const path = directory();
  const entries = [
    { name: 'd' },
    { name: 'd/f', content: Buffer.from('12345') },
    { name: 'g', content: Buffer.of() },
  ];
  const busybox = spawnSync('busybox', ['cpio', '-i'], { cwd: path, input: cpio(entries) });
  if (busybox.error) return expect(cpio(entries).length % 4).toBe(0);
  expect(readFileSync(join(path, 'd/f'), 'utf8')).toBe('12345');
  expect(readFileSync(join(path, 'g'), 'utf8')).toBe('');
});

it('words reach the shell as they are', () => {
  for (const word of ['plain', "it's", '$HOME `id` "x" \\', '', 'two\nlines', '*']) {
    const { stdout } = spawnSync('sh', ['-c', `printf %s ${quote(word)}`], { encoding: 'utf8' });
    expect(stdout).toBe(word);
  }
});

it('a run finds a directory of its own, and removes those of processes that were killed', () => {
  const ended = spawnSync('true').pid;
  const left = mkdtempSync(join(tmpdir(), `roce-vm-${ended}-`));
  const own = [makeRunDirectory(), makeRunDirectory()];
  onTestFinished(() => {
    for (const each of own) rmSync(each, { recursive: true });
  });
  expect(existsSync(left)).toBe(false);
  expect(own.every((each) => existsSync(each))).toBe(true);
  expect(own[0]).not.toBe(own[1]);
});

describe('the cache', () => {
  it('has an entry whole or not at all, keeps the first of two, and knows the newest', () => {
    const before = process.env.XDG_CACHE_HOME;
    process.env.XDG_CACHE_HOME = directory();
    try {
      expect(cached()).toEqual([]);
      const broken = () => {
        throw new Error('no network');
      };
      expect(() => fill('linux-6.1.0-9', broken)).toThrow('no network');
      expect(readdirSync(cacheDirectory())).toEqual([]);
      fill('linux-6.1.0-9', (draft) => writeFileSync(join(draft, 'f'), 'first'));
      fill('linux-6.1.0-9', (draft) => writeFileSync(join(draft, 'f'), 'second'));
      fill('linux-6.1.0-10', () => {});
      expect(readFileSync(join(cacheDirectory(), 'linux-6.1.0-9', 'f'), 'utf8')).toBe('first');
      expect(cached()).toEqual(['linux-6.1.0-9', 'linux-6.1.0-10']);
    } finally {
      if (before === undefined) delete process.env.XDG_CACHE_HOME;
      else process.env.XDG_CACHE_HOME = before;
    }
  });
});

describe('options', () => {
  const command = ['true'];
  it.each([
    [{ command: [] }, /no command/],
    [{ command, devices: 17 }, /devices must be a whole number from 0 to 16, not 17/],
    [{ command, devices: 1.5 }, /devices/],
    [{ command, memoryMiB: 64 }, /memory/],
    [{ command, loss: '2' }, /2% or 0.5%/],
    [{ command, loss: '1%; reboot' }, /2% or 0.5%/],
    [{ command, shared: 'relative' }, /absolute/],
    [{ command, shared: '/no/such' }, /absolute path of an existing directory/],
    [{ command, env: { 'A B': '1' } }, /not a name/],
    [{ command, device: 3 } as never, /unknown option 'device'/],
  ])('%j is refused', (options, message) => {
    expect(() => checked(options)).toThrow(message);
  });

  it('of the command line become those of the function', () => {
    const args = [
      'run',
      '--devices',
      '4',
      '--memory=1024',
      '--env',
      'A=b=c',
      '--loss',
      '2%',
      '--',
      'x',
      '--devices',
    ];
    expect(parseArguments(args)).toMatchObject({
      name: 'run',
      options: { devices: 4, memoryMiB: 1024, env: { A: 'b=c' }, loss: '2%' },
      command: ['x', '--devices'],
    });
    expect(() => parseArguments(['run', 'ls'])).toThrow(/follows "--"/);
    expect(() => parseArguments(['--frob'])).toThrow(/frob/);
    expect(() => parseArguments(['run', '--env', 'A'])).toThrow(/NAME=VALUE/);
    expect(() => checked({ command, ...parseArguments(['--devices', 'x']).options })).toThrow(/NaN/);
  });
});
