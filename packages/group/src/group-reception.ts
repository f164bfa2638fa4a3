import type { SingleConsumer } from '@rdmc/common';
import type { ReceivedMessage } from './received-message.js';
import type { SlotSetup } from './records.js';

/** The functions of the group that its reception calls. */
export interface ReceptionPort {
  /** `incoming` threw, or there is no memory. */
  failed(reason: string, error: unknown): void;
  /** A sender broke the protocol. */
  violated(sender: number, reason: string): void;
  /** Small messages are complete. */
  arrived(): void;
  /** A message of blocks is complete. */
  complete(message: number): void;
  /** With stable delivery: so many numbers of each sender are here and in order, and wait for `stable`. */
  ordered(counts: readonly number[]): void;
  /** With the order 'total': this member skips so many of its numbers. */
  skip(count: number): void;
  /** Numbers that this member has used as a sender. */
  numbered(): number;
}

/**
 * The messages that one member gets: their memory, their order, and the queue from which the application takes them. Lists of
 * counts have one count for each sender, in the order of the group's members: one in a group of one sender.
 */
export interface GroupReception {
  /** Messages that wait for the application. Messages that were delivered before the end stay readable. */
  readonly inbox: SingleConsumer<ReceivedMessage>;
  /** Numbers of each sender that are complete here. */
  readonly complete: readonly number[];
  /** Numbers of each sender that are whole here and in order. */
  readonly ordered: readonly number[];
  /** Messages that the application has, or can take. */
  readonly delivered: number;
  /** The same by sender, in a group of many. */
  readonly deliveredFrom: readonly number[] | undefined;
  /** Messages that are complete, and wait for one that will not come when all senders have closed. */
  readonly waiting: number;
  /** Small messages that are complete here, and their bytes. */
  readonly small: { readonly messages: number; readonly bytes: number };
  /** Whether this member has relayed the small messages that have arrived. If not, the event `small` follows. */
  readonly hasRelayed: boolean;
  /** Whether everything up to these counts was delivered. */
  hasDelivered(counts: readonly number[]): boolean;
  /** Allocates the memory ahead, if there is some. @throws VerbsError ERR_RDMC_OUT_OF_MEMORY */
  prepare(): Promise<SlotSetup | null>;
  /** The group is open; or small messages have arrived, while this thread waits for them. */
  look(): void;
  /** With stable delivery: all members have so many numbers of each sender. */
  stable(counts: readonly number[]): void;
  /** With stable delivery: the survivors deliver exactly these numbers of each sender. */
  trim(counts: readonly number[]): void;
  /** The group has failed: nothing is counted any more. Messages that are held can still be delivered. */
  freeze(): void;
  /** That sender has closed after `total` numbers: what is in its ring does not wait for the application. */
  closed(sender: number, total: number): void;
  /** The application of this member has closed the group: unread messages do not delay further ones any more. */
  close(): void;
  /** The group has ended, and nothing is written any more: copies out the rest of the small messages. */
  finish(): Promise<void>;
  /** A message begins that needs memory of the application. */
  begin(message: number, byteLength: number): void;
  /** A message is complete in memory of the application. */
  finished(message: number): void;
  /** A message is complete in a slot of memory ahead. */
  stored(message: number, slot: number, byteLength: number): void;
  /** The group has ended, and the device does not use memory of it any more. */
  dispose(reason: unknown): void;
}
