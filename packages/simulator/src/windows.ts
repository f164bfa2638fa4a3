import { automaticWindows, DEFAULT_RECEIVE_WINDOW, DEFAULT_SEND_WINDOW } from '@rdmc/group/machine';
import type { Algorithm } from '@rdmc/schedule';

/** How far a member works ahead. */
export interface Windows {
  /** Receives that are posted, over all neighbours. */
  readonly receive: number;
  /** Sends that have not completed. */
  readonly send: number;
  /** Receives that are announced and not filled; `undefined` for all that are posted. */
  readonly ready?: number | undefined;
  /** Narrower where `@rdmc/group` narrows them: it depends on the schedule and on the number of members. */
  readonly automatic?: boolean | undefined;
}

/** Windows by name. */
export const windowsByName = {
  /** The defaults of `@rdmc/group` over a network. */
  shipped: { receive: DEFAULT_RECEIVE_WINDOW, send: DEFAULT_SEND_WINDOW, automatic: true },
  /** The same windows for every schedule. */
  ahead: { receive: DEFAULT_RECEIVE_WINDOW, send: DEFAULT_SEND_WINDOW },
  /** The implementation of the RDMC paper: two receives posted, one `ready_for_block`, one send. */
  paper: { receive: 2, send: 1, ready: 1 },
  /** One receive and one send: members move in the steps of the schedule. */
  single: { receive: 1, send: 1 },
} as const satisfies Record<string, Windows>;

/** A name in {@link windowsByName}. */
export type WindowsName = keyof typeof windowsByName;

/** The windows of one group. */
export function windowsIn(windows: Windows, algorithm: Algorithm, nodes: number): Windows {
  if (!windows.automatic) return windows;
  const { sendWindow, readyWindow } = automaticWindows(algorithm, nodes, ['tcp']);
  const ready = readyWindow < windows.receive ? readyWindow : undefined;
  return { receive: windows.receive, send: Math.min(windows.send, sendWindow), ready };
}
