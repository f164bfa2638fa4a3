import type { Clients } from '../cluster/clients.js';
import type { Chances } from '../random.js';
import type { KvCluster } from './kv-cluster.js';
import type { KvPlan, KvScenario } from './kv-plan.js';
import type { KvProcess } from './kv-server.js';

/** What a run does for scenarios that are not in its own file. */
export interface HarmedKv {
  readonly plan: KvPlan;
  readonly random: Chances;
  readonly cluster: KvCluster;
  readonly clients: Clients;
  /** Where no server may end by itself: those that were killed. */
  killed: KvProcess[] | undefined;
  living(): KvProcess[];
  leader(but?: KvProcess): [KvProcess, number];
  calmly<T>(wait: () => Promise<T>): Promise<T>;
  killAll(victims: readonly KvProcess[]): Promise<void>;
  startAgain(server: KvProcess): Promise<KvProcess>;
  coordinate(): Promise<void>;
  untilOneLeads(): Promise<void>;
  requireAll(but: readonly KvProcess[]): void;
  requireCoordinators(): void;
  note(event: string): void;
}

export type Deeds = Partial<Record<KvScenario, (run: HarmedKv) => Promise<void>>>;
