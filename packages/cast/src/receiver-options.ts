import type { Key, Logger } from '@rdmc/common';
import type { NodeOptions } from '@rdmc/group';
import type { Transport } from '@rdmc/verbs';
import type { AfterCast } from './arrived-cast.js';
import type { EntrySink } from './entry-sink.js';
import type { CastMemory } from './memory/file-memory.js';
import type { CastParts } from './memory/parts.js';

/** The options of `receiveFiles`. */
export interface ReceiveOptions {
  /** Directory in which files are stored; it must exist, and this process must be able to write there. Or give `sink`. */
  readonly directory?: string | undefined;
  /**
   * Takes the files in the place of a directory: see {@link EntrySink}. Directories are counted; each link is a problem with
   * ERR_RDMC_UNSUPPORTED_TYPE.
   */
  readonly sink?: EntrySink | undefined;
  /**
   * Takes the files into memory, in the place of a directory or a sink, and learns of each tensor and each file when it is
   * whole: see {@link CastMemory}. Directories are counted; each link is a problem with ERR_RDMC_UNSUPPORTED_TYPE, and a stream
   * of unknown length with ERR_RDMC_UNKNOWN_SIZE.
   */
  readonly memory?: CastMemory | undefined;
  /**
   * Takes the files into named shared memory in /dev/shm, which other processes of this user map: 1 to 100 letters, digits,
   * '-', '_' and '.'. A receiver with a name takes one cast at a time; its first file replaces what the last cast has brought.
   * Everything is removed when the receiver is closed, or by the next one after a crash.
   */
  readonly sharedMemory?: string | undefined;
  /** With `memory` or `sharedMemory`: the part of each cast that is kept. Default: everything. */
  readonly parts?: CastParts | undefined;
  /** Refuses casts that are not one file or one stream, with ERR_RDMC_SEVERAL_FILES (default false). */
  readonly oneFile?: boolean | undefined;
  /** Runs after each cast that is whole: see {@link AfterCast}. */
  readonly afterCast?: AfterCast | undefined;
  /** Address to listen on (default 0.0.0.0 with a key, 127.0.0.1 without). */
  readonly host?: string | undefined;
  /** Control port, default 7411; 0 takes a free one. */
  readonly port?: number | undefined;
  /** Key of at least 16 bytes, the same at the senders. Without one: the key of the user, on loopback only. */
  readonly key?: Key | undefined;
  /** Ports, both included, that a cast uses beside the control port: two for each cast at a time. Default: any. */
  readonly meshPorts?: readonly [first: number, last: number] | undefined;
  /** Refuse casts that are not encrypted (default false: the sender decides). */
  readonly requireEncryption?: boolean | undefined;
  /** End after the first cast, whether it succeeds or not, and take no other one meanwhile. A dry run is not a cast. */
  readonly once?: boolean | undefined;
  /**
   * Sync files and directories to disk before a cast is reported as complete (default true). Without it, a power cut
   * may lose what was received in about the last half minute.
   */
  readonly fsync?: boolean | undefined;
  /**
   * Keep what an interrupted cast has brought, for seven days, and let a later cast continue there (default true). It is in
   * hidden directories `.rdmc-cast-kept-…` in the receiving directory; `removeKept` removes it.
   */
  readonly resume?: boolean | undefined;
  /**
   * How much interrupted casts may leave: bytes, or a share of the file system such as '25%' (default '50%'). The oldest
   * leftovers are removed first. A cast that needs the room also removes them.
   */
  readonly resumeLimit?: number | string | undefined;
  /**
   * Sets what a cast with `archive` tells: owners, groups, and the set-user-id, set-group-id and sticky bits (default false).
   * If this process runs as root, a sender with the key can then make files here that run as any user.
   */
  readonly archive?: boolean | undefined;
  /** 'auto' (default) or a kind of device of `openDevice`. */
  readonly device?: string | undefined;
  /** 'auto' (default), 'shm' or 'tcp': how the soft device reaches its peers. */
  readonly transport?: Transport | undefined;
  /** Closes the receiver. */
  readonly signal?: AbortSignal | undefined;
  /** Reports removed leftovers, refused connections and failures of the socket; default: none. */
  readonly logger?: Logger | undefined;
  /** Where the blocks of casts are traced, a `TraceFile` of `@rdmc/dataplane/trace`; default: no trace. Close it afterwards. */
  readonly trace?: NodeOptions['trace'];
}
