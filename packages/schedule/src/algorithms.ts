/** The algorithms of `createSchedule`, in order of increasing effectiveness on a flat network. */
export const algorithms = ['sequential', 'chain', 'binomial-tree', 'binomial-pipeline', 'hybrid'] as const;

/** A way to turn a multicast into transfers between two members (RDMC, DSN 2018, section 4.3). */
export type Algorithm = (typeof algorithms)[number];

/** Whether `value` names an algorithm. */
export function isAlgorithm(value: unknown): value is Algorithm {
  return (algorithms as readonly unknown[]).includes(value);
}
