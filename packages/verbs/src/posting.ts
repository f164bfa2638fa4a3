import { codeOf, isCodeOf, messageOf } from '@rdmc/common';
import { Layout, Opcode, WorkRequestFlag } from './constants.js';
import type { OpenDevice, ReceiveWorkRequest } from './contract.js';
import { PostError, verbsErrors } from './errors.js';
import { postError } from './post-result.js';
import { SubmissionQueue } from './submission-queue.js';

const batches = new WeakMap<OpenDevice, SubmissionQueue>();

/** One batch per device and thread serves the convenient calls. */
function batchOf(device: OpenDevice): SubmissionQueue {
  let batch = batches.get(device);
  if (!batch) {
    batch = new SubmissionQueue(device);
    batches.set(device, batch);
  }
  return batch;
}

/** Posts the batch, whose first request is the `first`th of its call. */
function flushFrom(batch: SubmissionQueue, first: number): void {
  try {
    batch.flush();
  } catch (error) {
    if (!(error instanceof PostError)) throw error;
    throw postError(first + error.index, error.result);
  }
}

/**
 * Writes and posts requests; if one cannot be written, those before it are posted nevertheless, and nothing of it stays in the
 * batch, which the next call uses.
 * @throws PostError
 * @internal
 */
export function postAll<Request>(
  device: OpenDevice,
  requests: readonly Request[],
  write: (batch: SubmissionQueue, request: Request) => void,
): void {
  const batch = batchOf(device);
  const flush = (end: number): void => flushFrom(batch, end - batch.pending);
  requests.forEach((request, index) => {
    if (batch.pending === Layout.BATCH_SLOTS) flush(index);
    const before = batch.pending;
    try {
      write(batch, request);
    } catch (error) {
      if (batch.pending > before) batch.cancel();
      flush(index);
      const code = codeOf(error);
      throw new PostError(
        isCodeOf(verbsErrors, code) ? code : 'ERR_RDMC_INVALID_OPTION',
        `Work request ${index} of the batch: ${messageOf(error)}`,
        index,
      );
    }
  });
  flush(requests.length);
}

/** Posts receives to the queue pair, or the shared receive queue, with this number. @throws PostError @internal */
export function postReceives(
  device: OpenDevice,
  number: number,
  requests: readonly ReceiveWorkRequest[],
): void {
  postAll(device, requests, (batch, request) => {
    batch.begin(Opcode.RECEIVE, number, request.id, WorkRequestFlag.SIGNALED);
    for (const sge of request.sges ?? []) batch.sge(sge.address, sge.byteLength, sge.lkey);
  });
}
