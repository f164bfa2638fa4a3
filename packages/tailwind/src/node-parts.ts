import type { DataPlane } from '@rdmc/dataplane';
import type { Mesh } from '@rdmc/mesh';
import type { Logger } from './options.js';
import type { WorkerLink } from './worker-link.js';

/** What ends when its node closes. */
export interface Closable {
  close(): Promise<void>;
}

/** What logs, services and recoveries use of their node. */
export interface NodeParts {
  readonly mesh: Mesh;
  readonly plane: DataPlane;
  /** To the protocol in the node's worker. */
  readonly link: WorkerLink;
  /** For what has no logger of its own. */
  readonly logger: Logger | undefined;
  /** Logs and services that are not closed yet. */
  readonly open: Set<Closable>;
}
