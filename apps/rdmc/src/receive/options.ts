import type { CastParts } from '@rdmc/cast';
import type { MetricsAddress } from '@rdmc/metrics';

/** The command of `--exec`, as it was given. */
export interface ExecOption {
  readonly argv: readonly string[];
  readonly timeoutMs: number;
}

/** The checked options of `rdmc receive`. */
export interface ReceiveCommandOptions {
  /** Undefined: the library chooses all addresses with a key, else loopback. */
  readonly host: string | undefined;
  readonly port: number | undefined;
  /** Undefined with `stdout` and `sharedMemory`. */
  readonly directory: string | undefined;
  /** Name of the shared memory that files are stored in. */
  readonly sharedMemory: string | undefined;
  /** What is stored there; undefined: everything. */
  readonly parts: CastParts | undefined;
  /** Whether the bytes of one file go to standard output. */
  readonly stdout: boolean;
  /** Runs after each cast; undefined: nothing. */
  readonly exec: ExecOption | undefined;
  readonly makeDirectory: boolean;
  readonly key: Uint8Array | undefined;
  readonly once: boolean;
  /** Refuses casts that are not encrypted. */
  readonly requireEncryption: boolean;
  readonly fsync: boolean;
  /** Whether owners and special mode bits are set, where the sender tells them. */
  readonly archive: boolean;
  /** Whether what interrupted casts have brought is kept for later ones. */
  readonly resume: boolean;
  /** Bytes, or a share of the disk; undefined: the library chooses. */
  readonly resumeLimit: number | string | undefined;
  readonly meshPorts: readonly [number, number] | undefined;
  readonly device: string;
  readonly transport: 'auto' | 'shm' | 'tcp';
  /** Where metrics are served; undefined: nowhere. */
  readonly metrics: MetricsAddress | undefined;
  /** Where to write the trace of this member; undefined: no trace. */
  readonly trace?: string | undefined;
  readonly verbose: boolean;
  readonly quiet: boolean;
  readonly json: boolean;
  /** Whether a log of JSON objects is written to stderr. */
  readonly logJson: boolean;
}
