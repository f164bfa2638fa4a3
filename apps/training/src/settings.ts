/** Settings of a job. */
export interface Settings {
  /** Processes beside the trainer's. */
  readonly workers: number;
  /** Steps of the job. */
  readonly steps: number;
  /** How many values the model has. */
  readonly parameters: number;
  /** In the middle of this step, counted from 1, a worker is killed; null: no worker is killed. */
  readonly killAt: number | null;
  /** As for `openDevice`. */
  readonly device: string;
}

/** The place of a worker's process in the job. */
export interface Place {
  readonly id: number;
  readonly members: readonly { id: number; host: string; port: number }[];
  readonly settings: Settings;
  /** Directory of the run, for files that outlive a process: it is removed at the run's end. */
  readonly directory: string;
}

/** The trainer's id; workers are 1 to n. */
export const TRAINER = 0;

/** Backups of the log: two if two workers remain after the loss of one. */
export function replicasFor(workers: number): number {
  return workers >= 3 ? 2 : 1;
}
