import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CompletionOpcode, CompletionWord, Opcode, PostResult, Status, Word } from '../src/constants.js';
import {
  completionFailure,
  Layout,
  type LocalKey,
  openDevice,
  PostError,
  WorkRequestFlag,
} from '../src/index.js';
import { refusalOf } from '../src/post-result.js';
import { refusedCompletion } from '../src/refused-completion.js';
import { connectBoth } from './support/pair.js';

const TWO_32 = 2 ** 32;
const NOBODYS_LKEY = 0x7fff_fff0 as LocalKey;

/** A batch whose second request was refused. */
function batchWith(result: number, opcode: number, id: number, queuePair: number): [Uint32Array, number] {
  const words = new Uint32Array(2 * Layout.WORK_REQUEST_WORDS).fill(0xffff_ffff);
  const base = Layout.WORK_REQUEST_WORDS;
  words[base + Word.RESULT] = result;
  words[base + Word.OPCODE] = opcode;
  words[base + Word.ID_LOW] = id;
  words[base + Word.ID_HIGH] = id / TWO_32;
  words[base + Word.QUEUE_PAIR] = queuePair;
  return [words, base];
}

describe('the completion of a refused request', () => {
  it('has the request’s id, queue pair and kind, and the device’s reason', () => {
    const result = fc.constantFrom(...Object.values(PostResult).filter((value) => value !== 0));
    const kind = fc.constantFrom<readonly [number, number]>(
      [Opcode.SEND, CompletionOpcode.SEND],
      [Opcode.SEND_WITH_IMM, CompletionOpcode.SEND],
      [Opcode.WRITE, CompletionOpcode.WRITE],
      [Opcode.WRITE_WITH_IMM, CompletionOpcode.WRITE],
      [Opcode.READ, CompletionOpcode.READ],
      [Opcode.COMPARE_AND_SWAP, CompletionOpcode.COMPARE_AND_SWAP],
      [Opcode.FETCH_AND_ADD, CompletionOpcode.FETCH_AND_ADD],
      [Opcode.RECEIVE, CompletionOpcode.RECEIVE],
    );
    const u32 = fc.integer({ min: 0, max: TWO_32 - 1 });
    fc.assert(
      fc.property(result, kind, fc.maxSafeNat(), u32, (code, [opcode, completed], id, queuePair) => {
        const words = refusedCompletion(...batchWith(code, opcode, id, queuePair));
        expect(words).toHaveLength(Layout.COMPLETION_WORDS);
        expect(words[CompletionWord.ID_LOW]! + words[CompletionWord.ID_HIGH]! * TWO_32).toBe(id);
        expect(words[CompletionWord.QUEUE_PAIR]).toBe(queuePair);
        expect(words[CompletionWord.OPCODE]).toBe(completed);
        expect(words[CompletionWord.STATUS]).not.toBe(Status.SUCCESS);
        const { refusal, reason } = completionFailure(words, 0);
        expect(refusal).toEqual(refusalOf(code));
        expect(reason).toBe(`the device refused a request: ${refusalOf(code).reason}`);
      }),
    );
  });

  it.each([
    [PostResult.INVALID_LKEY, 'LOCAL_PROTECTION_ERROR'],
    [PostResult.ACCESS_DENIED, 'LOCAL_PROTECTION_ERROR'],
    [PostResult.QUEUE_FULL, 'LOCAL_QP_OPERATION_ERROR'],
    [PostResult.WRONG_STATE, 'LOCAL_QP_OPERATION_ERROR'],
    [PostResult.DEVICE_REMOVED, 'FATAL'],
  ])('of result %d has the status %s', (result, status) => {
    const words = refusedCompletion(...batchWith(result, Opcode.SEND, 1, 1));
    expect(completionFailure(words, 0).status).toBe(status);
  });

  it('handles an unknown operation and an unknown reason', () => {
    const words = refusedCompletion(...batchWith(77, 78, 1, 1));
    expect(completionFailure(words, 0)).toMatchObject({
      status: 'LOCAL_QP_OPERATION_ERROR',
      refusal: { code: 'ERR_RDMC_POST_FAILED', reason: 'refused with code 77' },
    });
  });
});

describe('a completion with an error', () => {
  it('of the device has its status, whatever its other words are', () => {
    const words = new Uint32Array(3 * Layout.COMPLETION_WORDS).fill(0xffff_ffff);
    const base = Layout.COMPLETION_WORDS;
    words[base + CompletionWord.STATUS] = Status.RETRY_EXCEEDED;
    words[base + CompletionWord.BYTES] = PostResult.QUEUE_FULL;
    words[base + CompletionWord.FLAGS] = 3;
    expect(completionFailure(words, base)).toEqual({
      status: 'RETRY_EXCEEDED',
      refusal: undefined,
      reason: 'its queue pair failed with RETRY_EXCEEDED',
    });
  });
});

async function setUp(sendDepth = 8) {
  const device = await openDevice({ device: 'soft' });
  onTestFinished(() => device.close());
  const domain = device.allocateProtectionDomain();
  const queue = device.createCompletionQueue({ depth: 1024 });
  const queues = { sendQueue: queue, receiveQueue: queue, sendDepth, receiveDepth: sendDepth };
  const [a, b, c, d] = [1, 2, 3, 4].map(() => domain.createQueuePair(queues));
  await Promise.all([connectBoth(a!, b!), connectBoth(c!, d!)]);
  const region = await domain.allocate(4096);
  return { device, a: a!, c: c!, lkey: region.lkey, address: region.address };
}

describe('a submission queue with onRefused', () => {
  it('reports every refused request, and posts those of other queue pairs', async () => {
    const { device, a, c, lkey, address } = await setUp();
    const refused: [id: number, code: string | undefined][] = [];
    const batch = device.createSubmissionQueue({
      onRefused: (words) => {
        expect(words[CompletionWord.QUEUE_PAIR]).toBe(a.number);
        refused.push([words[CompletionWord.ID_LOW]!, completionFailure(words, 0).refusal?.code]);
      },
    });
    const send = (queuePair: number, id: number, key: LocalKey) => {
      batch.begin(Opcode.SEND, queuePair, id, WorkRequestFlag.SIGNALED);
      batch.sge(address, 8, key);
    };
    send(a.number, 1, lkey);
    send(a.number, 2, NOBODYS_LKEY);
    send(c.number, 3, lkey);
    send(a.number, 4, lkey);
    send(c.number, 5, lkey);
    batch.flush();
    expect(refused[0]).toEqual([2, 'ERR_RDMC_INVALID_LKEY']);
    expect(refused.map(([id]) => id)).toEqual([2, 4]);
    expect(batch.pending).toBe(0);
  });

  it('reports them when a full batch flushes itself, and continues', async () => {
    const { device, a, lkey, address } = await setUp(2 * Layout.BATCH_SLOTS);
    const refused: number[] = [];
    const batch = device.createSubmissionQueue({
      onRefused: (words) => refused.push(words[CompletionWord.ID_LOW]!),
    });
    for (let id = 0; id <= Layout.BATCH_SLOTS; id += 1) {
      expect(refused).toEqual([]);
      batch.begin(Opcode.SEND, a.number, id, WorkRequestFlag.SIGNALED);
      batch.sge(address, 8, id === Layout.BATCH_SLOTS - 1 ? NOBODYS_LKEY : lkey);
    }
    expect(refused).toEqual([Layout.BATCH_SLOTS - 1]);
    expect(batch.pending).toBe(1);
  });

  it('does not overwrite reported words in later batches', async () => {
    const { device, a, address } = await setUp();
    const refused: Uint32Array[] = [];
    const batch = device.createSubmissionQueue({ onRefused: (words) => refused.push(words) });
    for (const id of [1, 2]) {
      batch.begin(Opcode.SEND, a.number, id, WorkRequestFlag.SIGNALED);
      batch.sge(address, 8, NOBODYS_LKEY);
      batch.flush();
    }
    expect(refused.map((words) => words[CompletionWord.ID_LOW])).toEqual([1, 2]);
  });
});

describe('a submission queue without onRefused', () => {
  it('throws the first refusal', async () => {
    const { device, a, lkey, address } = await setUp();
    const batch = device.createSubmissionQueue();
    for (const [id, key] of [
      [1, lkey],
      [2, NOBODYS_LKEY],
    ] as const) {
      batch.begin(Opcode.SEND, a.number, id, WorkRequestFlag.SIGNALED);
      batch.sge(address, 8, key);
    }
    let thrown: unknown;
    try {
      batch.flush();
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(PostError);
    expect(thrown).toMatchObject({
      code: 'ERR_RDMC_INVALID_LKEY',
      index: 1,
      result: PostResult.INVALID_LKEY,
    });
    expect(batch.pending).toBe(0);
  });
});
