import type { Shape } from '../cluster/cluster.js';
import { type Chances, chances } from '../random.js';

/** The faults of a run. faults.ts and restarts.ts carry them out. */
export const SCENARIOS = [
  'primary',
  'primary-and-backups',
  'backups-then-primary',
  'stopped-primary',
  'torn-write',
  'damaged-buffer',
  'damaged-file',
  'power-failure',
  'coordinator',
  'too-much',
  'stale-backup',
  'full-disk',
  'cut-links',
  'cut-backup',
] as const;
export type Scenario = (typeof SCENARIOS)[number];

/** These mount a file system, or create network namespaces. */
export const NEEDS_ROOT: readonly Scenario[] = ['full-disk', 'cut-links', 'cut-backup'];

export const NEEDS_LAB: readonly Scenario[] = ['cut-links', 'cut-backup'];

export interface Plan {
  readonly seed: number;
  readonly scenario: Scenario;
  readonly shape: Shape;
  readonly clients: number;
  /** Writes acknowledged before the first fault, and after the last one. */
  readonly before: number;
  readonly after: number;
}

const SILENCE_MS = 3000;

/** Only stopped or disconnected members are detected by silence; on a busy machine, short silences do not count. */
function silence(scenario: Scenario): number {
  // The backup must come back in time: lost packets are retransmitted only seconds later.
  if (scenario === 'cut-backup') return 4 * SILENCE_MS;
  const isNoticed =
    NEEDS_LAB.includes(scenario) || scenario === 'stale-backup' || scenario === 'stopped-primary';
  return isNoticed ? SILENCE_MS : 0;
}

export interface Drawn {
  readonly plan: Plan;
  /** For choices during the run. */
  readonly random: Chances;
}

/** Everything that a seed determines. Drawn before the run, so that the run cannot change it. */
export function draw(seed: number, among: readonly Scenario[]): Drawn {
  const random = chances(seed);
  const scenario = random.pick(among);
  const replicas = random.pick([2, 2, 2, 3]);
  const isLab = NEEDS_LAB.includes(scenario);
  const shape: Shape = {
    // Enough for a new log after the loss of the primary and r − 1 backups.
    servers: 2 * replicas + 1,
    replicas,
    transport: isLab ? 'tcp' : random.pick(['shm', 'shm', 'tcp'] as const),
    segmentBytes: random.pick([8, 16, 64]) * 1024,
    buffers: 16,
    maxSegments: 60,
    cleans: random.pick([true, false]),
    leaseMs: random.pick([200, 500]),
    silenceTimeoutMs: silence(scenario),
  };
  const [before, after] = [random.integer(1, 250), random.integer(5, 60)];
  return { plan: { seed, scenario, shape, clients: random.integer(2, 6), before, after }, random };
}
