/*
 * One file per holder beside the state file: STATE.lock.HOLDER, of one line of JSON:
 *
 *   {"pid":123,"startedAt":"4567","boot":"UUID","pids":"pid:[4026531836]"}
 *
 * Each writes its own and then looks for others: of two that come at once, at least one sees the other. A file whose
 * process is gone is removed; names are never used twice, so nobody removes what another has just made. (Node has no
 * flock, and a lock by name alone cannot be taken over without a race.)
 */
import { randomUUID } from 'node:crypto';
import { open, readdir, readFile, readlink, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { TailwindError } from '../errors.js';

const holder = z.object({
  pid: z.number().int().positive(),
  /** Clock ticks since boot: tells a process from a later one with its id. */
  startedAt: z.string(),
  boot: z.string(),
  /** Process ids mean nothing in another namespace. */
  pids: z.string(),
});
type Holder = z.output<typeof holder>;

const STARTED_AT_FIELD = 19; // of /proc/PID/stat, counted behind the program's name

/** Keeps a second store away from a state file, for as long as this process lives or until it is released. */
export class FileStoreLock {
  private constructor(private readonly path: string) {}

  /** @throws TailwindError ERR_RDMC_STATE_LOCKED */
  static async take(statePath: string): Promise<FileStoreLock> {
    const self = await thisProcess();
    const prefix = `${basename(statePath)}.lock.`;
    const directory = dirname(statePath);
    const id = randomUUID();
    const own = `${prefix}${id}`;
    const lock = new FileStoreLock(join(directory, own));
    await writeWhole(join(directory, `${basename(statePath)}.locking.${id}`), lock.path, self);
    try {
      for (const name of await readdir(directory)) {
        if (name.startsWith(prefix) && name !== own)
          await removeIfStale(statePath, join(directory, name), self);
      }
      return lock;
    } catch (error) {
      await lock.release();
      throw error;
    }
  }

  async release(): Promise<void> {
    await rm(this.path, { force: true });
  }
}

/** Never half a file under its name, not even after the power failed. */
async function writeWhole(unfinished: string, path: string, self: Holder): Promise<void> {
  const file = await open(unfinished, 'wx', 0o600);
  try {
    await file.writeFile(`${JSON.stringify(self)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(unfinished, path);
}

async function removeIfStale(statePath: string, path: string, self: Holder): Promise<void> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  const other = parse(text);
  if (other?.boot !== undefined && other.boot !== self.boot) return rm(path, { force: true });
  const isKnown = other !== undefined && other.pids === self.pids;
  if (isKnown && (await startOf(other.pid)) !== other.startedAt) return rm(path, { force: true });
  const who = isKnown
    ? `process ${other.pid} has it open. Stop that one first`
    : `${path} was left by a process that cannot be seen from here. Remove it if nobody has the state open`;
  throw new TailwindError('ERR_RDMC_STATE_LOCKED', `${statePath}: ${who}`);
}

function parse(text: string): Holder | undefined {
  try {
    return holder.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

async function thisProcess(): Promise<Holder> {
  const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8');
  return {
    pid: process.pid,
    startedAt: (await startOf(process.pid)) ?? '',
    boot: boot.trim(),
    pids: await readlink('/proc/self/ns/pid'),
  };
}

/** Undefined when there is no such process. */
async function startOf(pid: number): Promise<string | undefined> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return state === 'Z' ? undefined : fields[STARTED_AT_FIELD - 1];
  } catch {
    return undefined;
  }
}
