import type { DataPlane } from '@rdmc/dataplane';
import type { Mesh } from '@rdmc/mesh';
import type { Logger } from './options.js';
import type { WorkerLink } from './worker-link.js';

/** Anything that is closed together with its node. */
export interface Closable {
  close(): Promise<void>;
}

/** The parts of a node that logs, services and recoveries use. */
export interface NodeParts {
  readonly mesh: Mesh;
  readonly plane: DataPlane;
  /** Connection to the protocol in the node's worker. */
  readonly link: WorkerLink;
  /** For logs, services and recoveries without a logger in their options. */
  readonly logger: Logger | undefined;
  /** Logs and services that are not closed yet. */
  readonly open: Set<Closable>;
}
