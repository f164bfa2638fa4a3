import type { CheckedServeOptions } from './serve-options.js';

/** The options of a server, or of a gathering cast, that concern a swarm. */
export type SwarmOptions = Pick<
  CheckedServeOptions,
  | 'meshPorts'
  | 'advertise'
  | 'encrypt'
  | 'bandwidthLimit'
  | 'connectTimeoutMs'
  | 'stallTimeoutMs'
  | 'device'
  | 'transport'
  | 'logger'
>;
