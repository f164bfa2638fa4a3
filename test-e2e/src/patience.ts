/** How many times as long everything may take: RDMC_TEST_PATIENCE, for emulated machines (default 1). */
const FACTOR = Number(process.env.RDMC_TEST_PATIENCE ?? 1);

/** A deadline in milliseconds, as long as it has to be on this machine. */
export function patient(deadlineMs: number): number {
  return deadlineMs * FACTOR;
}
