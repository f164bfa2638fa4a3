import type { ChecksumKind } from '@rdmc/cast';
import type { Algorithm } from '@rdmc/schedule';
import type { Gathering } from '../commands/gathering-options.js';
import type { Target } from '../hosts/target.js';
import type { RemoteOptions } from '../remote/options.js';
import type { Selection } from './selection.js';

/** The checked options of `rdmc cast`. */
export interface CastCommandOptions extends Selection, Gathering {
  readonly paths: readonly string[];
  /** Name at the receivers where standard input is cast; undefined where the paths are. */
  readonly inputName: string | undefined;
  readonly targets: readonly Target[];
  /** How to start the receivers; without it they must run already. */
  readonly remote: RemoteOptions | undefined;
  readonly key: Uint8Array | undefined;
  /** Undefined: the library chooses. */
  readonly algorithm: Algorithm | undefined;
  readonly rack: string | undefined;
  readonly blockSize: 'auto' | number;
  readonly messageSize: number | undefined;
  readonly checksum: ChecksumKind;
  readonly encrypt: boolean;
  readonly compress: boolean;
  readonly bandwidthLimit: number | undefined;
  readonly connectTimeoutMs: number | undefined;
  readonly stallTimeoutMs: number | undefined;
  readonly trafficClass: number;
  readonly serviceLevel: number;
  readonly retries: number;
  readonly device: string;
  readonly transport: 'auto' | 'shm' | 'tcp';
  readonly advertise: string | undefined;
  /** Ports of this machine. Those of receivers are in `remote`, or in their own options. */
  readonly ownPorts: readonly [number, number] | undefined;
  /** Where to write the trace of this member; undefined: no trace. */
  readonly trace?: string | undefined;
  /** Only shows receivers, files and schedule. */
  readonly plan: boolean;
  /** Asks the receivers what they lack, and changes nothing. */
  readonly dryRun: boolean;
  readonly verbose: boolean;
  readonly quiet: boolean;
  readonly json: boolean;
}
