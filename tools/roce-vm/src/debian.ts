import { spawnSync } from 'node:child_process';
import { PACKAGES } from './constants.js';
import { RoceVmError } from './errors.js';

const QUIET = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' };

/** Seconds of a command that downloads; the variable is that of all tools. */
const DOWNLOAD_SECONDS = Number(process.env.RDMC_DOWNLOAD_LIMIT) || 300;
const LATE = `it took longer than ${DOWNLOAD_SECONDS} s; check the network and Debian's mirror, or give it more time: RDMC_DOWNLOAD_LIMIT=SECONDS`;

/** Runs a command to its end; @throws RoceVmError with its output */
export function tell(command: string, args: readonly string[], options: TellOptions = {}): string {
  const { cwd, download = false } = options;
  const timeout = download ? DOWNLOAD_SECONDS * 1000 : 0;
  const settings = { cwd, timeout, env: QUIET, encoding: 'utf8', maxBuffer: 256 << 20 } as const;
  const done = spawnSync(command, args, settings);
  if (done.status === 0) return done.stdout;
  const isLate = (done.error as NodeJS.ErrnoException | undefined)?.code === 'ETIMEDOUT';
  const said = done.stderr.trim().split('\n').slice(-3).join(' ');
  const why = isLate ? LATE : (done.error?.message ?? said);
  throw new RoceVmError('ERR_RDMC_ROCE_VM_PACKAGE_FAILED', `${command} ${args.join(' ')} failed: ${why}`);
}

interface TellOptions {
  readonly cwd?: string;
  /** It has the time limit of downloads. */
  readonly download?: boolean;
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
  tell('apt-get', ['update', '-qq'], { download: true });
  tell('apt-get', ['-qq', ...args], { download: true });
}
