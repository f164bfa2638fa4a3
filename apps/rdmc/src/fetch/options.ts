import type { ComparisonKind } from '@rdmc/cast';

/** The options of `rdmc fetch`, checked. */
export interface FetchCommandOptions {
  readonly host: string;
  readonly port: number | undefined;
  /** Path below the served directory; undefined for everything. */
  readonly name: string | undefined;
  readonly directory: string;
  readonly makeDirectory: boolean;
  readonly key: Uint8Array | undefined;
  readonly compare: ComparisonKind;
  readonly fsync: boolean;
  readonly waitMs: number | undefined;
  /** How long this end serves on when everything is here. */
  readonly serveOnMs: number | undefined;
  readonly meshPorts: readonly [number, number] | undefined;
  readonly device: string;
  readonly transport: 'auto' | 'shm' | 'tcp';
  readonly verbose: boolean;
  readonly quiet: boolean;
  readonly json: boolean;
}
