/** The lines that `rdmc demo`, `rdmc cast` and `rdmc receive` print with `--json`; see documents.ts. */
import type { Algorithm } from '@rdmc/schedule';

/** One line of `rdmc demo --json`. */
export type DemoEvent =
  | { event: 'begun'; file: string; byteLength: number; members: number; folder: string }
  | { event: 'started'; member: number; pid: number }
  | {
      event: 'joined';
      device: string;
      deviceReason: string;
      transport: 'shm' | 'tcp' | 'roce' | 'infiniband';
      transportReason: string;
      /** Bits per second of each direction of each member's link; null: as fast as the machine or the device. */
      linkBitsPerSecond: number | null;
      algorithm: Algorithm;
      blockBytes: number;
      blocks: number;
      steps: number;
    }
  | { event: 'received'; member: number; seconds: number }
  | { event: 'verified'; member: number; path: string; sha256: string; ok: boolean }
  /** The same message to one receiver, over the same links. */
  | { event: 'copied'; oneCopySeconds: number }
  | {
      event: 'measured';
      algorithm: Algorithm;
      blocks: number;
      steps: number;
      rounds: number;
      /** Median, from the submission at the root until the slowest receiver had the message. */
      seconds: number;
      fastestSeconds: number;
      slowestSeconds: number;
      /** Bytes delivered to all receivers together, per second. */
      deliveredBytesPerSecond: number;
      /** `seconds` divided by the time of the same message to one receiver. */
      timesOneCopy: number;
    }
  | {
      event: 'finished';
      ok: true;
      sha256: string;
      seconds: number;
      explanation: string;
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
  event: 'plan';
  paths: string[];
  receivers: (Place & { address: string; rack: string | null })[];
  files: number;
  directories: number;
  links: number;
  bytes: number;
  /** Bytes to send: as `bytes`, without holes of sparse files. */
  contentBytes: number;
  problems: Problem[];
  problemCount: number;
  algorithm: Algorithm;
  /** Estimates: number and size of messages, and of blocks. */
  messages: number;
  messageBytes: number;
  blockBytes: number;
  blocks: number;
  steps: number;
  /** Steps of all messages divided by blocks: the time relative to one copy to one receiver, if links are the limit. */
  timesOneCopy: number;
  /** With --bandwidth-limit: the least number of seconds. */
  seconds: number | null;
}

interface CastProgress {
  event: 'progress';
  phase: 'preparing' | 'connecting' | 'sending' | 'finishing' | 'done';
  attempt: number;
  totalBytes: number;
  totalFiles: number;
  sentBytes: number;
  receivers: { name: string; state: string; receivedBytes: number; storedBytes: number }[];
}

interface Unchanged {
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
  | { event: 'begun'; paths: string[]; receivers: (Place & { rack: string | null })[] }
  /** With --ssh: a receiver listens. */
  | (Place & { event: 'started'; pid: number; hostName: string })
  | (Route & { event: 'route'; algorithm: string; messageBytes: number; blockBytes: number; address: string })
  | CastProgress
  /** A receiver is complete, or failed. A retry may follow `failed`. */
  | (Failure & { event: 'receiver'; name: string; state: 'complete' | 'failed' })
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
  directory: string;
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

/** One line of `rdmc receive --json`. */
export type ReceiveEvent =
  | Listening
  | (CastFacts & { event: 'began' })
  | (CastFacts & Route & { event: 'route' })
  | (CastFacts & { event: 'progress'; receivedBytes: number; storedBytes: number })
  | ReceiveComplete
  | (CastFacts & { event: 'failed'; code: string; message: string });
