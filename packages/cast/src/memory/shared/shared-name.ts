import { randomUUID } from 'node:crypto';
import { linkSync, lstatSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { ownIdentity, parseIdentity, processState } from '@rdmc/common';
import { CastError, codeOf, invalidOption, messageOf } from '../../errors.js';
import { IndexState, MAX_SHARED_NAME, OWNER_SUFFIX, PART_SUFFIX, SHARED_DIRECTORY } from './layout.js';
import { isOwn, removeIndex, removeSegments, sharedPath } from './segments.js';

const FORM = /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/;

/** @throws CastError ERR_RDMC_INVALID_OPTION where it cannot be a name of shared memory */
export function checkSharedName(where: string, name: unknown): string {
  const isPossible =
    typeof name === 'string' &&
    name.length <= MAX_SHARED_NAME &&
    FORM.test(name) &&
    !name.includes(PART_SUFFIX);
  if (isPossible) return name;
  const form = `needed 1 to ${MAX_SHARED_NAME} letters, digits, '-', '_' and '.', not '.' at the beginning`;
  throw invalidOption(`${where}: sharedMemory: ${form}, and not '${PART_SUFFIX}' in it`);
}

/** The name of shared memory, while a receiver has it. */
export class SharedName {
  private constructor(private readonly name: string) {}

  /**
   * Takes the name, and removes what a receiver that was killed has left under it.
   * @throws CastError ERR_RDMC_SHARED_NAME_IN_USE, ERR_RDMC_WRITE_FAILED
   */
  static claim(name: string): SharedName {
    try {
      takeOwnership(name);
      const claimed = new SharedName(name);
      try {
        removeContents(name);
        if (lstatSync(sharedPath(name), { throwIfNoEntry: false }))
          throw inUse(name, 'it exists, and is not of a receiver of this user');
        return claimed;
      } catch (error) {
        claimed.#disown();
        throw error;
      }
    } catch (error) {
      if (error instanceof CastError) throw error;
      const message = `the shared memory ${name} cannot be made in ${SHARED_DIRECTORY}: ${messageOf(error)}`;
      throw new CastError('ERR_RDMC_WRITE_FAILED', message, { cause: error });
    }
  }

  /** Removes everything that has the name. Mappings of other processes stay. */
  release(): void {
    removeContents(this.name);
    this.#disown();
  }

  #disown(): void {
    rmSync(sharedPath(this.name + OWNER_SUFFIX), { force: true });
  }
}

function removeContents(name: string): void {
  removeIndex(name, IndexState.REPLACED);
  removeSegments(name);
}

/** Puts the identity of this process into the file of the owner. The file appears with its content. */
function takeOwnership(name: string): void {
  const path = sharedPath(name + OWNER_SUFFIX);
  const own = sharedPath(`${name}${PART_SUFFIX}${randomUUID()}`);
  try {
    writeFileSync(own, JSON.stringify(ownIdentity()), { flag: 'wx', mode: 0o600 });
    if (!linked(own, path)) {
      removeStale(name, path);
      if (!linked(own, path)) throw inUse(name, 'another receiver has just taken it');
    }
  } finally {
    rmSync(own, { force: true });
  }
}

function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/** Removes the file of an owner that has ended. @throws CastError ERR_RDMC_SHARED_NAME_IN_USE where it may live */
function removeStale(name: string, path: string): void {
  if (!isOwn(path)) throw inUse(name, 'another user has it');
  checkGone(name, readFileSync(path, 'utf8'));
  // Another receiver may have done the same, and be the owner now: so look again at what is removed.
  const removed = sharedPath(`${name}${PART_SUFFIX}${randomUUID()}`);
  renameSync(path, removed);
  try {
    checkGone(name, readFileSync(removed, 'utf8'));
  } catch (error) {
    linked(removed, path);
    throw error;
  } finally {
    rmSync(removed, { force: true });
  }
}

function checkGone(name: string, text: string): void {
  const owner = parseIdentity(text);
  const state = owner && processState(owner);
  if (state === 'gone') return;
  if (state === 'alive') throw inUse(name, `the receiver with process id ${owner!.pid} has it`);
  throw inUse(
    name,
    `a receiver in another container may have it; if none has, remove ${sharedPath(name)}.rdmc-*`,
  );
}

function inUse(name: string, why: string): CastError {
  return new CastError('ERR_RDMC_SHARED_NAME_IN_USE', `the shared memory ${name} is taken: ${why}`);
}
