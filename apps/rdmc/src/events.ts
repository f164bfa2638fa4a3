/** The lines that `rdmc cast` and `receive` print with `--json`; see documents.ts. */
import type { Algorithm } from '@rdmc/schedule';
import type { Listening, Problem } from './event-parts.js';

/** Device and transports ('shm', 'tcp', 'roce', 'infiniband'), with the reasons for them. */
interface Route {
  device: string;
  reason: string;
  gid: string | null;
  transports: string[];
  transportReason: string;
}

/** The address of a receiver; `name` is `host:port` as given. */
interface Place {
  name: string;
  host: string;
  port: number;
}

interface Failure {
  code: string | null;
  message: string | null;
}

/** `rdmc cast --dry-run --json`. */
export interface CastPlan {
  /** Distinguishes the events. */
  event: 'plan';
  /** The files and directories as given. */
  paths: string[];
  /** The receivers; `address` is empty where it is not known yet, `rack` is null where none was given. */
  receivers: (Place & { address: string; rack: string | null })[];
  /** Regular files, without hard links. */
  files: number;
  /** Directories to send. */
  directories: number;
  /** Symbolic and hard links. */
  links: number;
  /** Sum of the sizes of the files. */
  bytes: number;
  /** Bytes to send: as `bytes`, without holes of sparse files. */
  contentBytes: number;
  /** Entries that cannot be sent, at most 500; `problemCount` counts all. */
  problems: Problem[];
  /** All entries that cannot be sent. */
  problemCount: number;
  /** The algorithm of the schedule. */
  algorithm: Algorithm;
  /** Why that algorithm, for people. */
  algorithmReason: string;
  /** Why blocks of that size, for people. */
  blockReason: string;
  /** Estimate: number of messages. */
  messages: number;
  /** Estimate: size of the largest message. */
  messageBytes: number;
  /** Estimate: size of a block. */
  blockBytes: number;
  /** Estimate: blocks of all messages. */
  blocks: number;
  /** Estimate: steps of all messages. */
  steps: number;
  /** Steps of all messages divided by blocks: the time relative to one copy to one receiver, if links are the limit. */
  timesOneCopy: number;
  /** With --bandwidth-limit: the least number of seconds. */
  seconds: number | null;
}

interface CastProgressOfReceiver {
  name: string;
  state: string;
  receivedBytes: number;
  storedBytes: number;
  /** Bytes that an interrupted cast had left there. */
  resumedBytes: number;
}

interface CastProgress {
  event: 'progress';
  phase: 'preparing' | 'connecting' | 'sending' | 'finishing' | 'done';
  attempt: number;
  totalBytes: number;
  totalFiles: number;
  sentBytes: number;
  /** Bytes that are not sent, because receivers take them from their older files. */
  keptBytes: number;
  receivers: CastProgressOfReceiver[];
}

interface Unchanged {
  /** Of the stored bytes, those that came from older files there. */
  keptBytes: number;
  /** Bytes that an interrupted cast had left there, and that were not sent again. */
  resumedBytes: number;
  /** Regular files that were there already, and their bytes. */
  unchangedFiles: number;
  unchangedBytes: number;
  /** Entries that the sender does not have. */
  removed: number;
  /** What was not set of the attributes of `--archive`; null where everything was. */
  unset: {
    accepted: boolean;
    owners: number;
    modes: number;
    attributes: number;
    attributeCode?: string | undefined;
  } | null;
}

type ReceiverOutcome = Place &
  Failure &
  Unchanged & { state: 'complete' | 'failed'; attempts: number; files: number; bytes: number };

interface CastFinished {
  event: 'finished';
  outcome: 'all' | 'partial' | 'none';
  exitCode: number;
  files: number;
  directories: number;
  links: number;
  bytes: number;
  /** Of these, what was sent; the rest was at the receivers. With --dry-run: what would be sent. */
  sentFiles: number;
  sentBytes: number;
  /** Bytes of contents that were sent: of `sentBytes`, without holes and without blocks that receivers had. */
  transferredBytes: number;
  /** With `--compress`: what these bytes took in messages; else null. */
  compressedBytes: number | null;
  /** Whether files were encrypted on their way. */
  encrypted: boolean;
  seconds: number;
  receivers: ReceiverOutcome[];
  problems: Problem[];
  problemCount: number;
}

/** Of a dry run: what a cast would change at a receiver. */
interface Change {
  event: 'change';
  receiver: string;
  change: 'create' | 'replace' | 'attributes' | 'remove';
  kind: 'file' | 'directory' | 'link' | 'other';
  path: string;
  bytes: number;
}

/** One line of `rdmc cast --json`. */
export type CastEvent =
  | CastPlan
  | Change
  | {
      /** The cast begins. */
      event: 'begun';
      /** The files and directories as given. */
      paths: string[];
      /** The receivers; `rack` is null where none was given. */
      receivers: (Place & { rack: string | null })[];
    }
  | {
      /** With --wait-for or --join-window: a receiver has answered. */
      event: 'joined';
      /** As it was given. */
      name: string;
      /** Its own host name. */
      hostName: string | null;
      /** How many have answered, and have not been lost. */
      here: number;
    }
  /** With --ssh: a receiver listens. */
  | (Place & {
      /** Distinguishes the events. */
      event: 'started';
      /** Its process id. */
      pid: number;
      /** The machine's own host name. */
      hostName: string;
    })
  | (Route & {
      /** The first group is formed. */
      event: 'route';
      /** The algorithm of the schedule. */
      algorithm: string;
      /** Why that algorithm, for people. */
      algorithmReason: string;
      /** Why blocks of that size, for people. */
      blockReason: string;
      /** The part of each member that sends received blocks on. */
      relay: 'worker' | 'device';
      /** Why that part, for people. */
      relayReason: string;
      /** Size of the largest message. */
      messageBytes: number;
      /** Size of a block. */
      blockBytes: number;
      /** Address and port at which receivers reach this machine. */
      address: string;
      /** Whether files are encrypted from the sender to each receiver. */
      encrypted: boolean;
      /** How contents are compressed; null: not. */
      compression: 'zstd' | 'deflate' | null;
    })
  | CastProgress
  /** A receiver is complete, or failed. A retry may follow `failed`. */
  | (Failure & {
      /** Distinguishes the events. */
      event: 'receiver';
      /** The receiver: `host:port` as given. */
      name: string;
      /** The state it reached. */
      state: 'complete' | 'failed';
    })
  | CastFinished;

/** The cast, its sender, and regular files and bytes: as announced; in `complete` and `failed` those that are stored. */
interface CastFacts {
  castId: string;
  from: string;
  files: number;
  bytes: number;
}

interface ReceiveComplete extends CastFacts, Unchanged {
  event: 'complete';
  /** Whether this was a dry run, which has not changed anything. */
  dryRun: boolean;
  directories: number;
  links: number;
  seconds: number;
  problems: Problem[];
  problemCount: number;
}

interface Cleaned {
  /** With --clean: what interrupted casts had left is removed. */
  event: 'cleaned';
  directory: string;
  casts: number;
  /** Bytes on disk. */
  bytes: number;
  /** Names of hidden directories that stay: their receivers may run in other containers or on other hosts. */
  elsewhere: string[];
}

/** One line of `rdmc receive --json`. */
export type ReceiveEvent =
  | (Listening & {
      /** Null with --stdout. */
      directory: string | null;
      /** The name given with --shm. */
      sharedMemory: string | null;
    })
  | Cleaned
  | (CastFacts & {
      /** A sender has connected and announced its cast. */
      event: 'began';
      /** Whether files are encrypted on their way. */
      encrypted: boolean;
      /** Whether the sender only asks what a cast would change. */
      dryRun: boolean;
    })
  | (CastFacts &
      Route & {
        /** The first group of the cast is formed. */
        event: 'route';
      })
  | (CastFacts & {
      /** About five times a second. */
      event: 'progress';
      /** Bytes of contents that have arrived in memory. */
      receivedBytes: number;
      /** Bytes of contents that are written to files. */
      storedBytes: number;
    })
  | ReceiveComplete
  | (CastFacts & {
      /** The cast ended early. */
      event: 'failed';
      /** Whether this was a dry run. */
      dryRun: boolean;
      /** Why: a stable code. */
      code: string;
      /** Why, for people; it may change. */
      message: string;
    });
