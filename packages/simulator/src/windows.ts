import { DEFAULT_RECEIVE_WINDOW, DEFAULT_SEND_WINDOW } from '@rdmc/group/machine';

/** How far a member works ahead. */
export interface Windows {
  /** Receives that are posted, over all neighbours. */
  readonly receive: number;
  /** Sends that have not completed. */
  readonly send: number;
  /** Receives that are announced and not filled; `undefined` for all that are posted. */
  readonly ready?: number | undefined;
}

/** Windows by name. */
export const windowsByName = {
  /** The defaults of `@rdmc/group`. */
  shipped: { receive: DEFAULT_RECEIVE_WINDOW, send: DEFAULT_SEND_WINDOW },
  /** The implementation of the RDMC paper: two receives posted, one `ready_for_block`, one send. */
  paper: { receive: 2, send: 1, ready: 1 },
  /** One receive and one send: members move in the steps of the schedule. */
  single: { receive: 1, send: 1 },
} as const satisfies Record<string, Windows>;

/** A name in {@link windowsByName}. */
export type WindowsName = keyof typeof windowsByName;
