import type { Arguments } from '../resp/arguments.js';
import type { ReplyWriter } from '../resp/writer.js';
import type { KeyEntry } from '../store/hash.js';
import type { Store } from '../store/store.js';
import type { NodeView } from './node-view.js';
import type { Session } from './session.js';

/** The parts that a command uses: the keys, the writer of its reply, and the server that runs it. */
export interface CommandContext {
  readonly writer: ReplyWriter;
  readonly store: Store;
  /** The facts about this server and its cluster that commands reply with. */
  readonly node: NodeView;
  /** Milliseconds since 1970 at the beginning of the turn. */
  readonly nowMs: number;
  /** The append that the reply waits for. */
  sequence: number;
  /**
   * The reply depends on the keys of this server, also where it says that a key does not exist. It needs the lease, unless it waits
   * for a write of its turn.
   * `find`, `look`, `peek` and `sizeOf` set this.
   */
  reads: boolean;
  /** Steps that the commands of this turn took, where a command can take many. */
  effort: number;
  /** Whether the turn has so many writes that the log should get them now. */
  readonly isFull: boolean;
  /** The slot of the key in an argument. */
  slot(args: Arguments, index: number): number;
  /** The entry of the key in an argument; the reply waits until the log has acknowledged it. */
  find(args: Arguments, index: number): KeyEntry | undefined;
  /** The same for a key whose slot is known. */
  look(slot: number, key: string): KeyEntry | undefined;
  /** The same for commands that do not need the text: a string may be an empty one. */
  peek(slot: number, key: string): KeyEntry | undefined;
  /** The number of keys of a slot, expired ones too; the reply waits until the log has acknowledged its last change. */
  sizeOf(slot: number): number;
  put(slot: number, key: string, value: string, expiresAt: number): void;
  remove(slot: number, key: string): void;
  /** Gives a key another expiry, and the same value. */
  retime(slot: number, key: string, entry: KeyEntry, expiresAt: number): void;
  /** The reply waits until the log has acknowledged this append. */
  waitFor(sequence: number): void;
  /** Runs a command as a part of this one; its error is its reply. */
  attempt(command: Runnable, args: Arguments, session: Session): void;
}

/** What runs of a command. */
export interface Runnable {
  readonly flags: readonly string[];
  /** It takes microseconds, whatever its arguments and its key are: only low thresholds have it timed. */
  readonly isBrief: boolean;
  /** Writes exactly one reply, at once. @throws CommandError, which becomes the reply */
  readonly run: (x: CommandContext, args: Arguments, session: Session) => void;
}
