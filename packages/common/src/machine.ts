/** What identifies a host over its boots. */
import { readFileSync } from 'node:fs';

/** The namespace of process numbers outside of containers: a constant of the kernel, PROC_PID_INIT_INO. */
export const INITIAL_PIDS = 'pid:[4026531836]';

/** The file of systemd, and where there is no systemd, that of D-Bus. */
const ID_FILES = ['/etc/machine-id', '/var/lib/dbus/machine-id'] as const;
/** During the first boot the file may hold `uninitialized`. */
const ID_FORM = /^[0-9a-f]{32}$/;
const HASH_KEY = '@rdmc/common process identity';

/**
 * A hash of the machine id: machine-id(5) says that the id itself must not be shown to others. Empty where this host
 * has no machine id.
 */
export function machineHash(files: readonly string[] = ID_FILES): string {
  const id = files.map(idIn).find((each) => each !== undefined);
  if (id === undefined) return '';
  // Every thread loads this module, and few need a hash: `node:crypto` takes more than a millisecond to load.
  const { createHmac } = process.getBuiltinModule('node:crypto');
  return createHmac('sha256', HASH_KEY).update(id).digest('hex');
}

function idIn(path: string): string | undefined {
  try {
    const text = readFileSync(path, 'latin1').trim();
    return ID_FORM.test(text) ? text : undefined;
  } catch {
    return undefined;
  }
}
