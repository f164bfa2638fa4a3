import { type decodeObject, encodeObject } from '@rdmc/tailwind';

/** The log's record of a step. */
export interface StepRecord {
  /** Number of the step, from 1. */
  readonly step: number;
  /** Ids of the workers whose gradients are in it, ascending. */
  readonly workers: readonly number[];
  /** SHA-256 of the parameters after it. */
  readonly checksum: string;
}

/** As an object of a log, whose key is the step. */
export function encodeRecord(record: StepRecord): Uint8Array[] {
  return encodeObject(record.step, Buffer.from(`step/${record.step}`), Buffer.from(JSON.stringify(record)));
}

export function decodeRecord({ value }: ReturnType<typeof decodeObject>): StepRecord {
  return JSON.parse(Buffer.from(value).toString()) as StepRecord;
}

/** Whether both have equal records of the same steps. */
export function areEqual(some: readonly StepRecord[], others: readonly StepRecord[]): boolean {
  return JSON.stringify(some) === JSON.stringify(others);
}
