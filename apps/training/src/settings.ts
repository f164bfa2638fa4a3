/** What a job is. */
export interface Settings {
  /** Processes beside the trainer's. */
  readonly workers: number;
  readonly steps: number;
  /** How many values the model has. */
  readonly parameters: number;
  /** In the middle of this step, counted from 1, a worker is killed; null: none. */
  readonly killAt: number | null;
  /** As for `openDevice`. */
  readonly device: string;
}

/** Where the process of a worker belongs. */
export interface Place {
  readonly id: number;
  readonly members: readonly { id: number; host: string; port: number }[];
  readonly settings: Settings;
  /** Of the run, for what must outlive a process: it is removed at the run's end. */
  readonly directory: string;
}

/** The trainer's id; workers are 1 to n. */
export const TRAINER = 0;

/** Backups of the log: two where the loss of a worker leaves so many. */
export function replicasFor(workers: number): number {
  return workers >= 3 ? 2 : 1;
}
