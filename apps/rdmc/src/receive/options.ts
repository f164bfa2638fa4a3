import type { MetricsAddress } from '@rdmc/metrics';

/** The checked options of `rdmc receive`. */
export interface ReceiveCommandOptions {
  /** Undefined: the library chooses all addresses with a key, else loopback. */
  readonly host: string | undefined;
  readonly port: number | undefined;
  readonly directory: string;
  readonly makeDirectory: boolean;
  readonly key: Uint8Array | undefined;
  readonly once: boolean;
  /** Refuses casts that are not encrypted. */
  readonly requireEncryption: boolean;
  readonly fsync: boolean;
  readonly meshPorts: readonly [number, number] | undefined;
  readonly device: string;
  readonly transport: 'auto' | 'shm' | 'tcp';
  /** Where metrics are served; undefined: nowhere. */
  readonly metrics: MetricsAddress | undefined;
  readonly verbose: boolean;
  readonly quiet: boolean;
  readonly json: boolean;
}
