import { ownIdentity, parseIdentity, processState } from '@rdmc/common';

/** The file in a temporary directory that says which process it belongs to. */
export const OWNER_FILE = 'owner';

export function describeOwner(): string {
  return JSON.stringify(ownIdentity());
}

/** Whether the process a temporary directory belongs to is gone for sure. */
export function isOwnerGone(text: string): boolean {
  const owner = parseIdentity(text);
  return owner !== undefined && processState(owner) === 'gone';
}
