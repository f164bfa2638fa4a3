/**
 * Queue pairs whose requests wait for receives of one another, as a small model: no device, no time. A request runs when
 * all before it in its queue have run and its conditions hold; each one delivers one receive to the queue's target.
 */

/** Queue pair `of` has received so often. */
export interface ModelCondition {
  readonly of: number;
  readonly receives: number;
}

export type ModelRequest = readonly ModelCondition[];

/** How many requests of each queue run, if `received(queuePair, ran)` is how often a queue pair receives then. */
function fixpoint(
  queues: readonly (readonly ModelRequest[])[],
  received: (queuePair: number, ran: readonly number[]) => number,
): number[] {
  const ran = queues.map(() => 0);
  for (let moved = true; moved; ) {
    moved = false;
    queues.forEach((queue, at) => {
      const next = queue[ran[at]!];
      if (!next?.every(({ of, receives }) => received(of, ran) >= receives)) return;
      ran[at]! += 1;
      moved = true;
    });
  }
  return ran;
}

/** How many requests of each queue have run when the queue pairs have received `received`. */
export function runnable(
  queues: readonly (readonly ModelRequest[])[],
  received: readonly number[],
): number[] {
  return fixpoint(queues, (of) => received[of]!);
}

/**
 * Whether the last request of queue `at` can ever run, where queue pair i receives what queue `i ^ 1` sends, and as many
 * requests without conditions as needed are added to every queue.
 */
export function canRun(queues: readonly (readonly ModelRequest[])[], at: number): boolean {
  const ran = fixpoint(queues, (of, soFar) => {
    const feeder = of ^ 1;
    return soFar[feeder]! === queues[feeder]!.length ? Number.POSITIVE_INFINITY : soFar[feeder]!;
  });
  return ran[at] === queues[at]!.length;
}
