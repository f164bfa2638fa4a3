import { checksumOf, fillGradient, sumOf, targetOf, update } from './model.js';
import type { StepRecord } from './step-record.js';

/** The results of a single process, with the same workers in each step. */
export function referenceRecords(records: readonly StepRecord[], parameters: number): StepRecord[] {
  const values = new Float32Array(parameters);
  const gradients = new Map<number, Float32Array>();
  const targets = new Map<number, Float32Array>();
  for (const worker of new Set(records.flatMap(({ workers }) => workers))) {
    gradients.set(worker, new Float32Array(parameters));
    targets.set(worker, targetOf(worker, parameters));
  }
  return records.map(({ workers }, index) => {
    for (const worker of workers) fillGradient(gradients.get(worker)!, values, targets.get(worker)!);
    const sum = sumOf(
      workers.map((worker) => gradients.get(worker)!),
      parameters,
    );
    update(values, sum, workers.length);
    return { step: index + 1, workers, checksum: checksumOf(values) };
  });
}
