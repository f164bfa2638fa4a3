import { ownIdentity, parseIdentity, processState } from '@rdmc/common';
import { ABANDONED_MS, RESTARTED_MS } from '../constants.js';

/** The file in a temporary directory that identifies its process. */
export const OWNER_FILE = 'owner';

export function describeOwner(): string {
  return JSON.stringify(ownIdentity());
}

/**
 * Whether the process of a temporary directory has ended; undefined where the text does not say which it is. One in another
 * container or on another host ('elsewhere') cannot be looked at. But it touches its directory as long as it runs, and a cast
 * whose receiver is silent for so long has ended, even if the process should go on.
 * @param silentMs how long ago the directory was last touched
 */
export function ownerState(text: string, silentMs: number): ReturnType<typeof processState> | undefined {
  const owner = parseIdentity(text);
  if (!owner) return undefined;
  const self = ownIdentity();
  const state = processState(owner, self);
  if (state !== 'elsewhere') return state;
  const isRestarted = owner.host === self.host && owner.boot !== self.boot;
  return silentMs > (isRestarted ? RESTARTED_MS : ABANDONED_MS) ? 'gone' : 'elsewhere';
}
