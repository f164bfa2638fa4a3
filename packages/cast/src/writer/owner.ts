import { ownIdentity, parseIdentity, processState } from '@rdmc/common';

/** The file in a temporary directory that identifies its process. */
export const OWNER_FILE = 'owner';

export function describeOwner(): string {
  return JSON.stringify(ownIdentity());
}

/** Whether the process of a temporary directory has certainly ended. */
export function isOwnerGone(text: string): boolean {
  const owner = parseIdentity(text);
  return owner !== undefined && processState(owner) === 'gone';
}
