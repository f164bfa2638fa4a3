import type { Key, Logger } from '@rdmc/common';
import type { NodeOptions } from '@rdmc/group';
import type { Algorithm, RackId } from '@rdmc/schedule';
import type { Transport } from '@rdmc/verbs';
import type { ChecksumKind } from './checksum.js';
import type { FilterRule } from './filters/filter-rule.js';
import type { ComparisonKind } from './manifest/policy.js';

/** Where a receiver listens. */
export interface CastTarget {
  /** Host name or address. */
  readonly host: string;
  /** Control port of `receiveFiles`, default 7411. */
  readonly port?: number | undefined;
  /** Receivers with equal racks are near one another. Racks have an effect where all receivers have one. */
  readonly rack?: RackId | undefined;
}

/** The options of `castFiles`. */
export interface CastOptions {
  /** The receivers; each once. */
  readonly to: readonly CastTarget[];
  /** Key of at least 16 bytes, the same at all receivers. Without one: the key of the user, on loopback only. */
  readonly key?: Key | undefined;
  /**
   * Default: what fits the receivers and the size. Where every target names its rack, and members share uplinks: a chain that
   * visits one rack after the other, or 'hybrid' if there are few blocks for each member; else 'binomial-pipeline'.
   */
  readonly algorithm?: Algorithm | undefined;
  /** The rack of this machine (default: a separate rack). */
  readonly rack?: RackId | undefined;
  /** Bytes, or 'auto' (default): one size, chosen for the whole cast. */
  readonly blockBytes?: 'auto' | number | undefined;
  /**
   * Who sends blocks on that a member has received: its worker thread, its device, or 'auto' (default): the device over a network,
   * if it can. Not with `waitFor` and `joinWindowMs`.
   */
  readonly relay?: 'auto' | 'worker' | 'device' | undefined;
  /**
   * Whether files are encrypted from the sender to each receiver, with AES-256-GCM (default true). False is for networks
   * that you trust; control connections are encrypted in any case.
   */
  readonly encrypt?: boolean | undefined;
  /**
   * Compresses contents (default false): with Zstandard where all ends run Node.js 22.15 or newer, else with DEFLATE. It is done
   * once, before encryption. Pieces that do not shrink are sent as they are. For links that are slower than about 100 Mbit/s.
   * Not with `waitFor` and `joinWindowMs`.
   */
  readonly compress?: boolean | undefined;
  /**
   * Checksum of file contents: 'gmac' (default, cheap), or 'sha256', with which no receiver that forwards bytes can alter
   * them unnoticed.
   */
  readonly checksum?: ChecksumKind | undefined;
  /**
   * How receivers decide that they have a file: 'size-time' (default): size and time of last change are equal;
   * 'content': the contents are equal, which both ends read; 'none': never, so that everything is sent.
   */
  readonly compare?: ComparisonKind | undefined;
  /** Rules that include or exclude entries, in order: the first one that matches decides. Patterns are those of rsync. */
  readonly filters?: readonly FilterRule[] | undefined;
  /** Only these paths, relative to the one directory that is cast; directories without what is in them. */
  readonly only?: readonly (string | Uint8Array)[] | undefined;
  /**
   * Sends large files that changed as a whole (default false). Else, of a file of at least 1 MiB of which a receiver has an
   * older form, only the blocks that differ are sent: both ends read the file once more.
   */
  readonly wholeFiles?: boolean | undefined;
  /**
   * Continues an interrupted cast where each receiver stopped, and lets a later cast continue this one (default true).
   * Not with `compare: 'none'`.
   */
  readonly resume?: boolean | undefined;
  /** Leaves files that are newer at the receiver (default false). */
  readonly update?: boolean | undefined;
  /** Creates nothing, and only replaces what exists at the receiver (default false). */
  readonly existing?: boolean | undefined;
  /**
   * At the end, removes entries that the receiver has in the cast directories and the sender does not (default false).
   * Excluded entries stay. Nothing is removed where an entry could not be sent or stored.
   */
  readonly delete?: boolean | undefined;
  /** Changes nothing; the summary has what a cast would change (default false). */
  readonly dryRun?: boolean | undefined;
  /**
   * Also tells owner, group, and the set-user-id, set-group-id and sticky bits of entries (default false). A receiver sets
   * them only with its own option `archive`; its summary has what it did not set (`unset`). Owners need a receiver that runs
   * as root. A user or group gets the id that its name has at the receiver, else its number. Not with `waitFor` and
   * `joinWindowMs`.
   */
  readonly archive?: boolean | undefined;
  /** With `archive`: owners are told as numbers, without names (default false). */
  readonly numericIds?: boolean | undefined;
  /** Ports of this machine, both included, that receivers connect to: two for each cast at a time. Default: any. */
  readonly meshPorts?: readonly [first: number, last: number] | undefined;
  /** Largest message in bytes, 64 KiB to 1 GiB, default 8 MiB. Every member holds three. */
  readonly messageBytes?: number | undefined;
  /** Bytes per second the sender feeds into the group, at least 64 KiB (default: no limit). */
  readonly bandwidthLimit?: number | undefined;
  /**
   * How long a receiver may take to answer and join, in milliseconds (default 10,000). For joining, each member beyond 16 adds half a
   * second.
   */
  readonly connectTimeoutMs?: number | undefined;
  /** How long a receiver may make no progress before it is dropped, in milliseconds (default 30,000). */
  readonly stallTimeoutMs?: number | undefined;
  /** Traffic class of the packets of all members, 0 (default) to 255: see `ConnectOptions` of @rdmc/verbs. */
  readonly trafficClass?: number | undefined;
  /** Service level of the packets of all members on RDMA devices, 0 (default) to 15. */
  readonly serviceLevel?: number | undefined;
  /**
   * For receivers that start at different times: the cast begins when so many of them have answered (default with
   * `joinWindowMs`: 1; else all are called once). The others are called for `joinWindowMs`. One that answers while the cast runs
   * joins between two messages: it gets the rest with the others, and the beginning afterwards, together with all others that
   * lack it. Not with `rack`, `blockBytes`, `messageBytes`, `wholeFiles`, `update`, `existing`, `delete`, `dryRun`, `compress`, `trafficClass`,
   * `serviceLevel` and `trace`, nor with another `algorithm` than 'binomial-pipeline'.
   */
  readonly waitFor?: number | undefined;
  /** How long receivers that do not answer are called, from the beginning, in milliseconds (default with `waitFor`: 60,000). */
  readonly joinWindowMs?: number | undefined;
  /** How often to cast again to those that failed, alone, after the end (default 0). */
  readonly retries?: number | undefined;
  /** 'auto' (default) or a kind of device of `openDevice`. */
  readonly device?: string | undefined;
  /** 'auto' (default), 'shm' or 'tcp': how the soft device reaches its peers. */
  readonly transport?: Transport | undefined;
  /** Address at which the receivers reach this machine (default: the local address of the first connection). */
  readonly advertise?: string | undefined;
  /** Ends the cast at every receiver; with `resume`, a later cast continues it. */
  readonly signal?: AbortSignal | undefined;
  /** Reports receivers that failed; default: none. */
  readonly logger?: Logger | undefined;
  /** Where this member's blocks are traced, a `TraceFile` of `@rdmc/dataplane/trace`; default: no trace. Close it afterwards. */
  readonly trace?: NodeOptions['trace'];
}
