/*
 * Messages between the harness and a member of a group, over the pipe between parent and child, and the content of what members send.
 *
 *   harness ─▶ member   { finish: true }: send nothing further, and close the group
 *   member ─▶ harness   { kind, … }: what has happened there
 */
import type { GroupOptions } from '@rdmc/group';

/** How a member dies by itself once it has heard that another one is lost, which is in the middle of the agreement. */
export type Trap =
  /** By SIGKILL, after so many turns of the event loop. */
  | { readonly turns: number }
  /** In the middle of a one-sided WRITE, after so many bytes of WRITEs. */
  | { readonly tornAfterBytes: number };

/** Settings of a member. One line of JSON on its command line. */
export interface GroupSetup {
  readonly id: number;
  readonly members: readonly { readonly id: number; readonly host: string; readonly port: number }[];
  /** True in the network of a laboratory, where no other program runs. */
  readonly isOpenNetwork: boolean;
  /** Where its soft device listens. */
  readonly deviceHost: string;
  /** For its log of deliveries, and the number of its sends. */
  readonly directory: string;
  readonly seed: number;
  readonly transport: 'shm' | 'tcp';
  readonly silenceTimeoutMs: number;
  readonly group: GroupOptions;
  /** Bytes of the messages of each sender, one after the other, again and again. */
  readonly sizes: readonly number[];
  /** Most messages of a burst. */
  readonly burst: number;
  /** Between two bursts. */
  readonly pauseMs: number;
  /** Whether it takes messages one by one, or in batches. */
  readonly reads: 'each' | 'batches';
  /** It waits for so many milliseconds after each 50 messages. */
  readonly slowMs: number;
  readonly trap: Trap | undefined;
  /** Survivors go on in a new group. */
  readonly again: boolean;
  /** From the start of the group on: it dies in the middle of a one-sided WRITE, after so many bytes. */
  readonly tornAfterBytes: number | undefined;
}

/** The error with which a group ended at a member. */
export interface ToldError {
  readonly code: string;
  readonly message: string;
  readonly excluded?: readonly number[];
  readonly delivered?: readonly (readonly [member: number, count: number])[];
  readonly deliveredFrom?: readonly (readonly [
    member: number,
    counts: readonly (readonly [sender: number, count: number])[],
  ])[];
}

/** How a group ended at a member. */
export interface Ended {
  readonly kind: 'ended';
  /** 0; 1: the group of the survivors. */
  readonly round: number;
  /** It was not created. */
  readonly isUnformed?: true;
  /** Of `close()`; undefined: it has resolved. */
  readonly error?: ToldError;
  /** Codes with which the iteration and the sends have ended, if they have failed. */
  readonly readCode?: string;
  readonly sendCode?: string;
}

export type GroupTold =
  | { readonly kind: 'open' }
  | { readonly kind: 'delivered'; readonly count: number }
  | { readonly kind: 'closing' }
  | Ended
  /** The node is closed: the process ends by itself. */
  | { readonly kind: 'left' };

const HEADER_BYTES = 8;

/** A message whose bytes follow from its sender and its number. */
export function contentOf(sender: number, number: number, sizes: readonly number[]): Buffer {
  const byteLength = Math.max(HEADER_BYTES, sizes[number % sizes.length]!);
  const bytes = Buffer.alloc(byteLength, `${sender}/${number},`);
  bytes.writeUInt32LE(sender, 0);
  bytes.writeUInt32LE(number, 4);
  return bytes;
}

/** The sender and the number that are written in a message. */
export function namedIn(bytes: Uint8Array): { readonly sender: number; readonly number: number } {
  if (bytes.byteLength < HEADER_BYTES) return { sender: -1, number: -1 };
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { sender: view.getUint32(0, true), number: view.getUint32(4, true) };
}
