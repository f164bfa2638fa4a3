/*
 * A work request that the device refused at posting, in the form of an error completion, so that a handler of a queue
 * pair's completions gets all failures in one way.
 *
 *   word          as in a completion of the device, but
 *   BYTES         the device's reason, one of `PostResult`
 *   FLAGS         REFUSED
 *
 * libibverbs reports a refusal as the `bad_wr` of `ibv_post_send`, without a completion. As in a completion with an
 * error (IB specification 11.6.2), only the id, the status and the queue pair are defined.
 */

import { statusName } from './completion-names.js';
import {
  CompletionOpcode,
  CompletionWord,
  Layout,
  Opcode,
  PostResult,
  Status,
  type StatusName,
  Word,
} from './constants.js';
import { type Refusal, refusalOf } from './post-result.js';

/** A flag beside those of the device (`CompletionFlag`), which only sets low bits. */
const REFUSED = 0x8000_0000;

const COMPLETION_OPCODES: Record<number, number> = {
  [Opcode.SEND]: CompletionOpcode.SEND,
  [Opcode.SEND_WITH_IMM]: CompletionOpcode.SEND,
  [Opcode.WRITE]: CompletionOpcode.WRITE,
  [Opcode.WRITE_WITH_IMM]: CompletionOpcode.WRITE,
  [Opcode.READ]: CompletionOpcode.READ,
  [Opcode.COMPARE_AND_SWAP]: CompletionOpcode.COMPARE_AND_SWAP,
  [Opcode.FETCH_AND_ADD]: CompletionOpcode.FETCH_AND_ADD,
  [Opcode.RECEIVE]: CompletionOpcode.RECEIVE,
};

/** Refusals because of the request's memory; all others are operations that the queue pair cannot execute. */
const PROTECTION_RESULTS: readonly number[] = [
  PostResult.INVALID_LKEY,
  PostResult.OUT_OF_BOUNDS,
  PostResult.NOT_SHAREABLE,
  PostResult.ACCESS_DENIED,
];

function statusOf(result: number): number {
  if (result === PostResult.DEVICE_REMOVED) return Status.FATAL;
  return PROTECTION_RESULTS.includes(result)
    ? Status.LOCAL_PROTECTION_ERROR
    : Status.LOCAL_QP_OPERATION_ERROR;
}

/** The completion of the refused work request whose slot begins at word `base` of the batch. */
export function refusedCompletion(batch: Uint32Array, base: number): Uint32Array {
  const words = new Uint32Array(Layout.COMPLETION_WORDS);
  const result = batch[base + Word.RESULT]!;
  words[CompletionWord.ID_LOW] = batch[base + Word.ID_LOW]!;
  words[CompletionWord.ID_HIGH] = batch[base + Word.ID_HIGH]!;
  words[CompletionWord.STATUS] = statusOf(result);
  words[CompletionWord.OPCODE] = COMPLETION_OPCODES[batch[base + Word.OPCODE]!] ?? CompletionOpcode.SEND;
  words[CompletionWord.BYTES] = result;
  words[CompletionWord.QUEUE_PAIR] = batch[base + Word.QUEUE_PAIR]!;
  words[CompletionWord.FLAGS] = REFUSED;
  return words;
}

/** The content of a completion whose status is not SUCCESS. */
export interface CompletionFailure {
  /** The completion's status. */
  readonly status: StatusName;
  /** Why the request was refused at posting; undefined if it was posted and failed later. */
  readonly refusal: Refusal | undefined;
  /** Text to append to the name of a peer: `its queue pair failed with RETRY_EXCEEDED`. */
  readonly reason: string;
}

/** Reads the error completion at word `base`. */
export function completionFailure(words: Uint32Array, base: number): CompletionFailure {
  const status = statusName(words[base + CompletionWord.STATUS]!);
  if ((words[base + CompletionWord.FLAGS]! & REFUSED) === 0) {
    return { status, refusal: undefined, reason: `its queue pair failed with ${status}` };
  }
  const refusal = refusalOf(words[base + CompletionWord.BYTES]!);
  return { status, refusal, reason: `the device refused a request: ${refusal.reason}` };
}
