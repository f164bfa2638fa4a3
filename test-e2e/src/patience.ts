/** Factor of all deadlines: RDMC_TEST_PATIENCE, for emulated machines (default 1). */
const FACTOR = Number(process.env.RDMC_TEST_PATIENCE ?? 1);

/** A deadline in milliseconds, multiplied by the factor. */
export function patient(deadlineMs: number): number {
  return deadlineMs * FACTOR;
}
