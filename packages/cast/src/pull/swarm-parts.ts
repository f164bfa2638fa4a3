import type { OriginFacts } from './origin.js';
import type { PullReaderThread } from './pull-reader-thread.js';
import type { RunEnvironment } from './run.js';
import type { ServeEvent } from './serve-events.js';
import type { SwarmOptions } from './swarm-options.js';

export interface SwarmParts {
  readonly name: string;
  readonly castId: string;
  /** The server's address as the fetchers of this swarm reach it. */
  readonly localHost: string;
  readonly reader: PullReaderThread;
  /** What the reader found. */
  readonly facts: Promise<OriginFacts>;
  /** Lets the reader look again. Undefined where fetchers that serve on are not possible. */
  readonly look?: () => Promise<OriginFacts>;
  /** Nothing is sent before so many fetchers have said what they have, at the same time. */
  readonly least: number;
  readonly options: SwarmOptions;
  readonly report: (event: ServeEvent) => void;
  /** Called with every group as soon as it is formed. */
  readonly onGroup?: RunEnvironment['onGroup'];
}
