import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDirectory, cached, fill } from './cache.js';
import { BOOT_MODULES, KERNEL_PACKAGE, RDMA_MODULES } from './constants.js';
import { cpio } from './cpio.js';
import { tell } from './debian.js';
import { RoceVmError } from './errors.js';
import { ModuleIndex, nameOf, withoutSignature } from './modules.js';
import { vmlinuxOf } from './vmlinux.js';

/*
 * An entry of the cache:
 *   vmlinux              the kernel, uncompressed
 *   boot.cpio            the first file system, without the files of a run
 *   lib/modules/RELEASE  all its modules, with the tables of depmod
 */
export interface Kernel {
  /** The output of `uname -r`. */
  readonly release: string;
  readonly vmlinux: string;
  readonly bootArchive: string;
  readonly modules: string;
}

function at(directory: string): Kernel {
  const release = readdirSync(join(directory, 'lib', 'modules'))[0]!;
  return {
    release,
    vmlinux: join(directory, 'vmlinux'),
    bootArchive: join(directory, 'boot.cpio'),
    modules: join(directory, 'lib', 'modules', release),
  };
}

/** The content of a module's file, without its signature: checking it takes long on an emulated processor. */
function moduleContent(file: string): Buffer {
  const content = readFileSync(file);
  if (file.endsWith('.ko')) return withoutSignature(content);
  const tool = file.endsWith('.xz') ? 'xz' : 'zstd';
  const done = spawnSync(tool, ['-dc'], { input: content, maxBuffer: 1 << 28 });
  if (done.status === 0) return withoutSignature(done.stdout);
  throw new RoceVmError('ERR_RDMC_ROCE_VM_KERNEL_UNFIT', `cannot unpack ${file} with ${tool}`);
}

/** Busybox, modules with the lists of their loading order, and mount points. */
function bootArchive(index: ModuleIndex): Buffer {
  const directories = ['bin', 'proc', 'sys', 'dev', 'lower', 'memory', 'root', 'modules', 'job'];
  const boot = index.inOrder(BOOT_MODULES);
  const rdma = index.inOrder(RDMA_MODULES).filter((path) => !boot.includes(path));
  const list = (paths: readonly string[]) =>
    Buffer.from(paths.map((path) => `${nameOf(path)}.ko\n`).join(''));
  return cpio([
    ...directories.map((name) => ({ name })),
    { name: 'bin/busybox', content: readFileSync('/bin/busybox') },
    { name: 'modules/boot', content: list(boot) },
    { name: 'modules/rdma', content: list(rdma) },
    ...[...boot, ...rdma].map((path) => ({
      name: `modules/${nameOf(path)}.ko`,
      content: moduleContent(join(index.directory, path)),
    })),
  ]);
}

/** Debian's package of the current kernel: a dependency of the meta package. */
function currentPackage(): string {
  const found = /Depends: (linux-image-[\w.+-]+)/.exec(tell('apt-cache', ['depends', KERNEL_PACKAGE]))?.[1];
  if (found) return found;
  throw new RoceVmError(
    'ERR_RDMC_ROCE_VM_PACKAGE_FAILED',
    `${KERNEL_PACKAGE} does not depend on a kernel package`,
  );
}

function unpack(name: string, directory: string): void {
  // The package is only unpacked, not installed.
  const args = ['download', '-qq', '-o', 'APT::Sandbox::User=root', name];
  tell('apt-get', args, { cwd: directory, download: true });
  const archive = readdirSync(directory).find((file) => file.endsWith('.deb'))!;
  const parts = join(directory, 'parts');
  mkdirSync(parts);
  tell('dpkg-deb', ['-x', archive, parts], { cwd: directory });
  const image = readdirSync(join(parts, 'boot')).find((file) => file.startsWith('vmlinuz-'))!;
  const release = image.slice('vmlinuz-'.length);
  writeFileSync(join(directory, 'vmlinux'), vmlinuxOf(readFileSync(join(parts, 'boot', image))));
  const modules = join(directory, 'lib', 'modules');
  mkdirSync(modules, { recursive: true });
  // In Debian 13 and later /lib has become /usr/lib in packages as well.
  const from = readdirSync(parts).includes('lib') ? ['lib'] : ['usr', 'lib'];
  renameSync(join(parts, ...from, 'modules', release), join(modules, release));
  tell('depmod', ['-b', directory, release]);
  writeFileSync(join(directory, 'boot.cpio'), bootArchive(new ModuleIndex(join(modules, release))));
  rmSync(parts, { recursive: true });
  rmSync(join(directory, archive));
}

/**
 * The newest kernel of the cache; without one Debian's current kernel is downloaded and unpacked there.
 * @throws RoceVmError ERR_RDMC_ROCE_VM_PACKAGE_FAILED, ERR_RDMC_ROCE_VM_KERNEL_UNFIT
 */
export function kernel(log: (line: string) => void): Kernel {
  const newest = cached().at(-1);
  if (newest !== undefined) return at(join(cacheDirectory(), newest));
  const name = currentPackage();
  log(`downloading ${name} to ${cacheDirectory()}`);
  return at(fill(name, (directory) => unpack(name, directory)));
}
