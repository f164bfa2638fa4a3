/** Parts of the lines of several commands. */

/** An entry that did not arrive, and why. */
export interface Problem {
  path: string;
  code: string;
  message: string;
  /** The receiver that lacks it; null where the sender could not send it, so that all lack it. */
  receiver: string | null;
}

/** A receiver or a server listens. */
export interface Listening {
  event: 'listening';
  /** The address that it listens on. */
  host: string;
  /** The port that it listens on. */
  port: number;
  /** Whether the other ends need a key. */
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
