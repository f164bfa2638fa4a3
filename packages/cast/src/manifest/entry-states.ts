/** What a receiver says about an entry of the manifest. */
export const EntryState = {
  /** It has the entry. */
  HAS: 0,
  /** It lacks the entry. */
  ABSENT: 1,
  /** It has another entry of that name, which the entry will replace. */
  DIFFERS: 2,
  /** It lacks the entry, or has another one, and the options say that it stays so. */
  SKIPPED: 3,
  /** It has the contents, and sets mode and time itself. */
  ATTRIBUTES: 4,
  /** It lacks the file, and has a large older one of that name, whose blocks may be of use. */
  OLDER: 5,
  /** It lacks the file, and may want only parts of it. */
  PARTLY: 6,
} as const;
export type EntryStateValue = (typeof EntryState)[keyof typeof EntryState];

export const MAX_ENTRY_STATE = EntryState.PARTLY;

const LACKING: ReadonlySet<number> = new Set([
  EntryState.ABSENT,
  EntryState.DIFFERS,
  EntryState.OLDER,
  EntryState.PARTLY,
]);

/** Whether the sender must send the entry. */
export function isLacking(state: number): boolean {
  return LACKING.has(state);
}
