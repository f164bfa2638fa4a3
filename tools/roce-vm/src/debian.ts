import { spawnSync } from 'node:child_process';
import { PACKAGES } from './constants.js';
import { RoceVmError } from './errors.js';

const QUIET = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' };

/** Runs a command to its end; @throws RoceVmError with its output */
export function tell(command: string, args: readonly string[], options: { cwd?: string } = {}): string {
  const done = spawnSync(command, args, { ...options, env: QUIET, encoding: 'utf8', maxBuffer: 256 << 20 });
  if (done.status === 0) return done.stdout;
  const why = done.error?.message ?? done.stderr.trim().split('\n').slice(-3).join(' ');
  throw new RoceVmError('ERR_RDMC_ROCE_VM_PACKAGE_FAILED', `${command} ${args.join(' ')} failed: ${why}`);
}

function installed(name: string): boolean {
  const done = spawnSync('dpkg-query', ['-W', '-f', `\${db:Status-Status}`, name], { encoding: 'utf8' });
  return done.status === 0 && done.stdout === 'installed';
}

/** Packages of {@link PACKAGES} that this machine lacks. */
export function missingPackages(): string[] {
  return PACKAGES.filter((name) => !installed(name));
}

/** @throws RoceVmError ERR_RDMC_ROCE_VM_UNSUPPORTED on unsupported systems */
export function requireDebian(): void {
  const { platform, arch } = process;
  const apt = spawnSync('apt-get', ['--version']).status === 0;
  if (platform === 'linux' && arch === 'x64' && apt) return;
  throw new RoceVmError(
    'ERR_RDMC_ROCE_VM_UNSUPPORTED',
    `soft-RoCE machines are made of Debian packages for x86-64; this is ${platform} on ${arch}${apt ? '' : ' without apt-get'}`,
  );
}

/**
 * Installs missing packages, as root; for other users the error has the line to run.
 * @throws RoceVmError ERR_RDMC_ROCE_VM_PACKAGE_MISSING, ERR_RDMC_ROCE_VM_PACKAGE_FAILED
 */
export function installPackages(log: (line: string) => void): void {
  const missing = missingPackages();
  if (missing.length === 0) return;
  const args = ['install', '-y', '--no-install-recommends', ...missing];
  if (process.getuid?.() !== 0) {
    throw new RoceVmError(
      'ERR_RDMC_ROCE_VM_PACKAGE_MISSING',
      `missing packages; run: sudo apt-get ${args.join(' ')}`,
    );
  }
  log(`apt-get ${args.join(' ')}`);
  tell('apt-get', ['update', '-qq']);
  tell('apt-get', ['-qq', ...args]);
}
