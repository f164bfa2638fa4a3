import type { MetricsAddress } from '@rdmc/metrics';

/** The options of `rdmc serve`, checked. */
export interface ServeCommandOptions {
  readonly directory: string;
  readonly host: string | undefined;
  readonly port: number | undefined;
  readonly key: Uint8Array | undefined;
  readonly encrypt: boolean;
  readonly bandwidthLimit: number | undefined;
  readonly meshPorts: readonly [number, number] | undefined;
  readonly advertise: string | undefined;
  readonly stallTimeoutMs: number | undefined;
  readonly device: string;
  readonly transport: 'auto' | 'shm' | 'tcp';
  /** Where metrics are served; undefined: nowhere. */
  readonly metrics: MetricsAddress | undefined;
  readonly verbose: boolean;
  readonly quiet: boolean;
  readonly json: boolean;
  /** Whether a log of JSON objects is written to stderr. */
  readonly logJson: boolean;
}
