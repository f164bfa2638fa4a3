/*
 * One file per holder beside the state file: STATE.lock.HOLDER. It has one line of JSON, the identity of its process
 * (see `ProcessIdentity` of @rdmc/common).
 *
 * Each process writes its own file and then looks for others: when two start at once, at least one sees the other. A
 * file whose process does not exist any more is removed. Names are never used twice, so no process removes a file that
 * another one has just created. (Node does not have flock, and a lock by a fixed name cannot be taken over without a
 * race.)
 */
import { randomUUID } from 'node:crypto';
import { open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { ownIdentity, type ProcessIdentity, parseIdentity, processState } from '@rdmc/common';
import { TailwindError } from '../errors.js';

/** Keeps other stores away from a state file, as long as this process lives or until it is released. */
export class FileStoreLock {
  private constructor(private readonly path: string) {}

  /** @throws TailwindError ERR_RDMC_STATE_LOCKED */
  static async take(statePath: string): Promise<FileStoreLock> {
    const self = ownIdentity();
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

/** The file is complete whenever it has its name, also after a power failure. */
async function writeWhole(unfinished: string, path: string, self: ProcessIdentity): Promise<void> {
  const file = await open(unfinished, 'wx', 0o600);
  try {
    await file.writeFile(`${JSON.stringify(self)}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(unfinished, path);
}

async function removeIfStale(statePath: string, path: string, self: ProcessIdentity): Promise<void> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  const holder = parseIdentity(text);
  const state = holder && processState(holder, self);
  if (state === 'gone') return rm(path, { force: true });
  throw new TailwindError('ERR_RDMC_STATE_LOCKED', `${statePath}: ${describe(path, holder, state)}`);
}

function describe(
  path: string,
  holder: ProcessIdentity | undefined,
  state: ReturnType<typeof processState> | undefined,
): string {
  const remove = `remove its lock: rm ${shellWord(resolve(path))}`;
  if (!holder) return `${path} does not say which process has it open. If no process has, ${remove}`;
  const { pid, host } = holder;
  if (state === 'alive') return `process ${pid} has it open. Stop that process first`;
  return (
    `process ${pid} on host '${host}' has it open, and cannot be seen from this host or container. ` +
    `Stop that process first; if it is gone for certain, ${remove}`
  );
}

/** Quoted for a shell, whatever characters the path has. */
function shellWord(path: string): string {
  return /^[\w./:@%+=,-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}
