import type { Member, MeshLogger, MeshOptions } from '@rdmc/mesh';
import type { OpenDeviceOptions } from '@rdmc/verbs';
import { onlyKnownOptions } from './options.js';

/** A pino logger fits. */
export type NodeLogger = MeshLogger;

/** What `RdmcNode.join` takes: the options of a mesh, and those of the device and its worker. */
export interface NodeOptions extends Omit<MeshOptions, 'attributes'> {
  /** This member's id. */
  readonly id: number;
  /** All members, this one included; the same list everywhere. */
  readonly members: readonly Member[];
  /** Which device: 'auto' (default), 'soft', or all options of `openDevice`. */
  readonly device?: OpenDeviceOptions | string;
  /** How long the worker polls after work before it sleeps, in milliseconds (default 50; 0: never polls). */
  readonly windowMs?: number;
}

const KNOWN = [
  'id',
  'members',
  'key',
  'timeoutMs',
  'heartbeatMs',
  'silenceTimeoutMs',
  'insecureListenBeyondLoopback',
  'listenHost',
  'server',
  'maxFrameBytes',
  'maxBufferedBytes',
  'signal',
  'logger',
  'device',
  'windowMs',
];

/** @throws GroupError ERR_RDMC_UNKNOWN_OPTION; the values are checked by the mesh, the device and the data plane */
export function splitNodeOptions(options: NodeOptions): {
  mesh: Omit<MeshOptions, 'attributes'>;
  device: NodeOptions['device'];
  windowMs: number | undefined;
} {
  onlyKnownOptions('RdmcNode.join', options, KNOWN);
  const { device, windowMs, ...mesh } = options;
  return { mesh, device, windowMs };
}
