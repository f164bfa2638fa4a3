/** The lines that `rdmc demo`, `cast`, `receive`, `serve` and `fetch` print with `--json`; see documents.ts. */
import type { Algorithm } from '@rdmc/schedule';

/** One line of `rdmc demo --json`. */
export type DemoEvent =
  | {
      /** The demonstration begins. */
      event: 'begun';
      /** Path of the file. */
      file: string;
      /** Bytes that are sent; they may be fewer or more than the file has. */
      byteLength: number;
      /** Members, the sender included. */
      members: number;
      /** The temporary folder of the received files. */
      folder: string;
    }
  | {
      /** The process of a receiver runs. */
      event: 'started';
      /** The id of the receiver, from 1. */
      member: number;
      /** Its process id. */
      pid: number;
    }
  | {
      /** All members have joined. */
      event: 'joined';
      /** The name of the device. */
      device: string;
      /** Why that device. */
      deviceReason: string;
      /** What carries the bytes. */
      transport: 'shm' | 'tcp' | 'roce' | 'infiniband';
      /** Why that transport; empty where no reason is known. */
      transportReason: string;
      /** Bits per second of each direction of each member's link; null: as fast as the machine or the device. */
      linkBitsPerSecond: number | null;
      /** The algorithm of the first delivery. */
      algorithm: Algorithm;
      /** Size of a block. */
      blockBytes: number;
      /** Blocks of the message. */
      blocks: number;
      /** Steps of the schedule. */
      steps: number;
    }
  | {
      /** A receiver has the message in memory. */
      event: 'received';
      /** The id of the receiver, from 1. */
      member: number;
      /** Time since the submission at the root. */
      seconds: number;
    }
  | {
      /** A receiver's file was hashed and compared. */
      event: 'verified';
      /** The id of the receiver, from 1. */
      member: number;
      /** Path of the received file. */
      path: string;
      /** SHA-256 of the received file, in hexadecimal. */
      sha256: string;
      /** Whether it equals that of the sender's file. */
      ok: boolean;
    }
  /** The same message to one receiver, over the same links. */
  | {
      /** One copy was measured. */
      event: 'copied';
      /** Median time of one copy. */
      oneCopySeconds: number;
    }
  | {
      /** One algorithm was measured. */
      event: 'measured';
      /** The algorithm. */
      algorithm: Algorithm;
      /** Blocks of the message. */
      blocks: number;
      /** Steps of the schedule. */
      steps: number;
      /** Number of measured messages. */
      rounds: number;
      /** Median, from the submission at the root until the slowest receiver had the message. */
      seconds: number;
      /** Time of the fastest round. */
      fastestSeconds: number;
      /** Time of the slowest round. */
      slowestSeconds: number;
      /** Bytes delivered to all receivers together, per second. */
      deliveredBytesPerSecond: number;
      /** `seconds` divided by the time of the same message to one receiver. */
      timesOneCopy: number;
    }
  | {
      /** All files were equal. */
      event: 'finished';
      /** Always true: a failure ends the command without this event. */
      ok: true;
      /** SHA-256 of the file, in hexadecimal. */
      sha256: string;
      /** Time of the whole demonstration. */
      seconds: number;
      /** What the measured times mean, for people. */
      explanation: string;
      /** With --keep: the folder of the received files; otherwise null. */
      keptFolder: string | null;
    };

/** An entry that did not arrive, and why. */
interface Problem {
  path: string;
  code: string;
  message: string;
  /** The receiver that lacks it; null where the sender could not send it, so that all lack it. */
  receiver: string | null;
}

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
      /** Size of the largest message. */
      messageBytes: number;
      /** Size of a block. */
      blockBytes: number;
      /** Address and port at which receivers reach this machine. */
      address: string;
      /** Whether files are encrypted from the sender to each receiver. */
      encrypted: boolean;
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
  directories: number;
  links: number;
  seconds: number;
  problems: Problem[];
  problemCount: number;
}

interface Listening {
  event: 'listening';
  host: string;
  port: number;
  /** Null with --stdout. */
  directory: string | null;
  /** Whether senders need a key. */
  keyed: boolean;
  pid: number;
  hostName: string;
  version: string;
  /** Addresses of this machine that other hosts may reach, likeliest first. */
  addresses: string[];
  /** The URL of the metrics, with --metrics. */
  metrics: string | null;
}

interface Cleaned {
  /** With --clean: what interrupted casts had left is removed. */
  event: 'cleaned';
  directory: string;
  casts: number;
  /** Bytes on disk. */
  bytes: number;
}

/** One line of `rdmc receive --json`. */
export type ReceiveEvent =
  | Listening
  | Cleaned
  | (CastFacts & {
      /** A sender has connected and announced its cast. */
      event: 'began';
      /** Whether files are encrypted on their way. */
      encrypted: boolean;
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
      /** Why: a stable code. */
      code: string;
      /** Why, for people; it may change. */
      message: string;
    });

/** The fetch, its fetcher, the name that it asked for, and regular files and bytes below that name. */
interface ServeFacts {
  fetchId: string;
  from: string;
  /** Empty for everything. */
  name: string;
  files: number;
  bytes: number;
}

/** One line of `rdmc serve --json`. */
export type ServeEvent =
  | {
      /** The server listens. */
      event: 'listening';
      /** The address that it listens on. */
      host: string;
      /** The port that it listens on. */
      port: number;
      /** What is served. */
      directory: string;
      /** Whether fetchers need a key. */
      keyed: boolean;
      /** Its process id. */
      pid: number;
      /** The machine's own host name. */
      hostName: string;
      /** The version of the command. */
      version: string;
      /** Addresses of this machine that other hosts may reach, likeliest first. */
      addresses: string[];
      /** The URL of the metrics, with --metrics. */
      metrics: string | null;
    }
  | (ServeFacts & {
      /** A fetcher has told what it has. */
      event: 'began';
      /** Pieces of at most 1 MiB below the name. */
      pieces: number;
      /** Those of them that the fetcher lacks. */
      lacking: number;
      /** Fetchers of the same name at this moment, this one included. */
      fetchers: number;
      /** Whether files are encrypted on their way. */
      encrypted: boolean;
    })
  | (ServeFacts & {
      /** About once a second. */
      event: 'progress';
      /** Bytes of pieces that the fetcher has stored, beside those that it had. */
      storedBytes: number;
    })
  | {
      /** What was sent to one group. */
      event: 'sent';
      /** The name that the fetchers asked for; empty for everything. */
      name: string;
      /** Fetchers in the group. */
      fetchers: number;
      /** Pieces that were sent once, to all of them. */
      pieces: number;
      /** Bytes of these pieces, with what encryption and numbers add. */
      bytes: number;
    }
  | (ServeFacts & {
      /** A fetcher has stored everything that it does not report as missing. */
      event: 'complete';
      /** Files that it stored. */
      storedFiles: number;
      /** Bytes that it stored. */
      storedBytes: number;
      /** Entries that it lacks. */
      problemCount: number;
      /** From the moment at which it asked. */
      seconds: number;
    })
  | (ServeFacts & {
      /** A fetch ended early. */
      event: 'failed';
      /** Why: a stable code. */
      code: string;
      /** Why, for people; it may change. */
      message: string;
    });

/** One line of `rdmc fetch --json`. */
export type FetchEvent =
  | {
      /** About five times a second. */
      event: 'progress';
      /** The stage of the fetch. */
      phase: 'connecting' | 'comparing' | 'receiving' | 'finishing' | 'done';
      /** Bytes of pieces that were missing here. */
      totalBytes: number;
      /** Those of them that are stored. */
      storedBytes: number;
      /** Members of the current group, the server included; 0 between groups. */
      members: number;
    }
  | {
      /** The fetch has ended. */
      event: 'finished';
      /** 0, or 6 where entries are missing. */
      exitCode: number;
      /** Root hash of what was fetched, in hexadecimal. */
      root: string;
      /** Regular files that were stored. */
      files: number;
      /** Sum of their sizes. */
      bytes: number;
      /** Directories of the served name. */
      directories: number;
      /** Bytes of pieces that were received. */
      receivedBytes: number;
      /** Regular files that were here already. */
      unchangedFiles: number;
      /** Sum of their sizes. */
      unchangedBytes: number;
      /** Of `bytes`, those that were taken from older files here. */
      keptBytes: number;
      /** Links and special files, which are not served. */
      skipped: number;
      /** Whether files were encrypted on their way. */
      encrypted: boolean;
      /** Time of the whole fetch. */
      seconds: number;
      /** Entries that are missing here, at most 500. */
      problems: Problem[];
      /** All entries that are missing here. */
      problemCount: number;
    };
