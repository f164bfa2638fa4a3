/** The lines that `rdmc demo` prints with `--json`; see documents.ts. */
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
