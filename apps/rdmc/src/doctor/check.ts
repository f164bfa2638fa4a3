import * as z from 'zod';

export const checkStatus = z.enum(['ok', 'warn', 'fail', 'info']);
export type CheckStatus = z.infer<typeof checkStatus>;

/** The result of one check. */
export const checkResult = z.strictObject({
  /** Stable name, for programs. */
  id: z.string(),
  title: z.string(),
  status: checkStatus,
  found: z.string(),
  /** What to do; `null` where nothing needs to be done. */
  advice: z.string().nullable(),
});
/** The result of one check of `rdmc doctor`. */
export type CheckResult = z.infer<typeof checkResult>;

/** The document of `rdmc doctor --json`. */
export const doctorDocument = z.strictObject({
  healthy: z.boolean(),
  members: z.number().int(),
  byteLength: z.number().int(),
  checks: z.array(checkResult),
});
/** What `rdmc doctor --json` prints. */
export type DoctorDocument = z.infer<typeof doctorDocument>;

/** The demonstration that the machine is checked for. */
export interface Workload {
  readonly members: number;
  readonly byteLength: number;
}

export function result(
  id: string,
  title: string,
  status: CheckStatus,
  found: string,
  advice: string | null = null,
): CheckResult {
  return { id, title, status, found, advice };
}
