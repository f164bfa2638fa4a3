/** Messages of trainer and workers over the mesh, beside the data. */
export const Topic = {
  /** To workers: the id of the cluster that they serve a backup of. */
  CLUSTER: 'training.cluster',
  /** From a worker: it serves its backup, and accepts further messages. */
  READY: 'training.ready',
  /** To workers: the members of the crew from now on. */
  CREW: 'training.crew',
  /** A request to a worker: to stop in the middle of a step. It answers with its `ProcessReport`. */
  HOLD: 'training.hold',
  /** From that worker: it has the parameters of the step, and does not send a gradient. */
  HELD: 'training.held',
  /** A request to a worker: its `ProcessReport`. */
  REPORT: 'training.report',
  /** To workers: the job is done. */
  FINISH: 'training.finish',
} as const;

/** The trainer and workers that work together until one of them is lost. */
export interface CrewOrder {
  /** Counts crews: the group's id and a part of the channel's name, so that messages of earlier crews do not match. */
  readonly number: number;
  readonly workers: readonly number[];
}

export type HoldOrder = { readonly step: number };
