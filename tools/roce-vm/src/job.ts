import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MTU_BYTES } from './constants.js';
import { cpio } from './cpio.js';
import type { Kernel } from './kernel.js';
import type { Settings } from './options.js';
import { quote } from './quote.js';

const GUEST = join(dirname(fileURLToPath(import.meta.url)), '..', 'guest');
/** Variables of this process that are passed on. */
const PASSED = ['PATH', 'HOME', 'TERM', 'LANG', 'CI', 'NO_COLOR', 'FORCE_COLOR'];

function environment({ env }: Settings): Record<string, string> {
  const own = Object.entries(process.env).filter(
    ([name]) => PASSED.includes(name) || name.startsWith('RDMC_'),
  );
  return { ...(Object.fromEntries(own) as Record<string, string>), ...env };
}

function lines(pairs: Readonly<Record<string, string>>, before = ''): string {
  return Object.entries(pairs)
    .map(([name, value]) => `${before}${name}=${quote(value)}\n`)
    .join('');
}

/** The files of one run, as a second archive behind the kernel's own. */
export function jobArchive(settings: Settings, kernel: Kernel, interactive: boolean): Buffer {
  const machine = lines({
    DEVICES: String(settings.devices),
    LOSS: settings.loss ?? '',
    MTU: String(MTU_BYTES),
    SHARED_DIR: settings.shared ?? '',
    KERNEL_RELEASE: kernel.release,
    KERNEL_MODULES: kernel.modules,
    INTERACTIVE: interactive ? '1' : '',
  });
  const words = settings.command.map(quote).join(' ');
  const command = `${lines(environment(settings), 'export ')}cd ${quote(settings.cwd)} && exec ${words}\n`;
  return cpio([
    { name: 'init', content: readFileSync(join(GUEST, 'init')) },
    { name: 'job' },
    { name: 'job/start', content: readFileSync(join(GUEST, 'start')) },
    { name: 'job/devices', content: readFileSync(join(GUEST, 'devices')) },
    { name: 'job/settings', content: Buffer.from(machine) },
    { name: 'job/command', content: Buffer.from(command) },
  ]);
}
