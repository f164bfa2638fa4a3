import type { CompletionHandler, ProtocolContext } from '@rdmc/dataplane';
import { until } from '@rdmc/testing';
import {
  type CompletionFailure,
  CompletionWord,
  type Device,
  Layout,
  openDevice,
  type QueuePair,
  remoteKey,
} from '@rdmc/verbs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { LoopBack } from '../src/worker/loop-back.js';
import type { LoopBackWrite } from '../src/worker/loop-back-pair.js';

const WRITES = 40;
const BYTES = 64;

/** A device with a loop-back; the test makes its turns. */
class Bench {
  readonly #attached = new Map<number, CompletionHandler>();
  readonly #held: (() => void)[] = [];
  #holds: number | undefined;
  readonly queuePairs: QueuePair[] = [];
  /** Queue pairs that were created after `refuseSecond` or `refuseReceives`, and closed. */
  closed = 0;
  readonly outcomes: (CompletionFailure | 'done' | undefined)[] = [];
  readonly loopBack: LoopBack;

  private constructor(
    readonly device: Device,
    private readonly protectionDomain = device.allocateProtectionDomain(),
    private readonly completionQueue = device.createCompletionQueue(),
    private readonly submission = device.createSubmissionQueue(),
  ) {
    const context: Partial<ProtocolContext> = {
      ...{ device, protectionDomain, completionQueue, submission },
      attach: (queuePair, handler) => {
        this.#attached.set(queuePair.number, handler);
        this.queuePairs.push(queuePair);
      },
      detach: (queuePair) => {
        submission.flush();
        this.#attached.delete(queuePair.number);
      },
      wake: () => {},
    };
    this.loopBack = new LoopBack(context as ProtocolContext);
  }

  static async open(): Promise<Bench> {
    const device = await openDevice({ device: 'soft' });
    onTestFinished(() => device.close());
    return new Bench(device);
  }

  /** As many WRITEs, those at `bad` with a key that is not valid. Returns source and target. */
  async write(count: number, ...bad: number[]): Promise<[Uint8Array, Uint8Array]> {
    const [from, to] = await Promise.all([
      this.protectionDomain.allocate(count * BYTES),
      this.protectionDomain.allocate(count * BYTES, { remoteWrite: true }),
    ]);
    from.view().forEach((_, at, bytes) => {
      bytes[at] = at % 251;
    });
    to.view().fill(255);
    for (let i = 0; i < count; i += 1) {
      const rkey = bad.includes(i) ? remoteKey(to.rkey ^ 0x8000_0000) : to.rkey;
      this.loopBack.write({
        to: { address: to.address + i * BYTES, rkey },
        ...{ fromAddress: from.address + i * BYTES, fromKey: from.lkey, byteLength: BYTES },
        done: (failure) => {
          this.outcomes[i] = failure ?? 'done';
        },
      } satisfies LoopBackWrite);
    }
    return [from.view(), to.view()];
  }

  /** Requests that are written and not posted. */
  get pending(): number {
    return this.submission.pending;
  }

  turn(): void {
    this.submission.flush();
    const count = this.completionQueue.pollBatch();
    // A copy: a handler may post, and a post may poll.
    const words = this.completionQueue.words.slice(0, count * Layout.COMPLETION_WORDS);
    for (let i = 0; i < count; i += 1) this.#take(words, i * Layout.COMPLETION_WORDS);
  }

  /** Gives the handlers the completions that were held. */
  release(): void {
    this.#holds = undefined;
    for (const take of this.#held.splice(0)) take();
  }

  /** The device has only one queue pair left. Closing the device fails where one is open. */
  refuseSecond(): void {
    let count = 0;
    this.#watchCreated(() => {
      count += 1;
      if (count % 2 === 0) throw new Error('no queue pair is left');
    });
  }

  /** The device does not take receives. */
  refuseReceives(): void {
    this.#watchCreated((queuePair) => {
      queuePair.postReceive = () => {
        throw new Error('no receive is taken');
      };
    });
  }

  /** Holds the completions of that queue pair. */
  hold({ number }: QueuePair): void {
    this.#holds = number;
  }

  get held(): number {
    return this.#held.length;
  }

  /** Counts queue pairs that are closed. */
  #watchCreated(created: (queuePair: QueuePair) => void): void {
    const create = this.protectionDomain.createQueuePair.bind(this.protectionDomain);
    this.protectionDomain.createQueuePair = (options) => {
      const queuePair = create(options);
      const close = queuePair.close.bind(queuePair);
      queuePair.close = () => {
        this.closed += 1;
        return close();
      };
      created(queuePair);
      return queuePair;
    };
  }

  #take(words: Uint32Array, base: number): void {
    const number = words[base + CompletionWord.QUEUE_PAIR]!;
    const take = (): void => this.#attached.get(number)?.onCompletion(words, base);
    if (number === this.#holds) this.#held.push(take);
    else take();
  }

  /** Turns until all have ended. */
  async finish(count: number): Promise<void> {
    await until(() => {
      this.turn();
      return this.outcomes.length === count && !this.outcomes.includes(undefined);
    });
    expect(this.loopBack.isBusy).toBe(false);
  }
}

describe('LoopBack', () => {
  it('writes more than it posts at once, over one pair', async () => {
    const bench = await Bench.open();
    const [from, to] = await bench.write(WRITES);
    expect(bench.loopBack.isBusy).toBe(true);
    await bench.finish(WRITES);
    expect(bench.outcomes).toEqual(Array.from({ length: WRITES }, () => 'done'));
    expect(Buffer.compare(from, to)).toBe(0);
    expect(bench.queuePairs).toHaveLength(2);
    await bench.loopBack.close();
  });

  it.each([
    ['source', 0],
    ['target', 1],
  ])('waits for the completion of its %s', async (_, end) => {
    const bench = await Bench.open();
    const [from, to] = await bench.write(3);
    bench.hold(bench.queuePairs[end]!);
    await until(() => {
      bench.turn();
      return bench.held === 3;
    });
    bench.turn();
    expect(bench.outcomes).toEqual([]);
    bench.release();
    await bench.finish(3);
    expect(Buffer.compare(from, to)).toBe(0);
    await bench.loopBack.close();
  });

  it('reports the WRITE that broke the pair, and executes the others over another one', async () => {
    const bench = await Bench.open();
    const [from, to] = await bench.write(WRITES, 5);
    await bench.finish(WRITES);
    expect(bench.outcomes[5]).toMatchObject({ status: 'REMOTE_ACCESS_ERROR' });
    expect(bench.outcomes.filter((each) => each === 'done')).toHaveLength(WRITES - 1);
    from.fill(255, 5 * BYTES, 6 * BYTES);
    expect(Buffer.compare(from, to)).toBe(0);
    expect(bench.queuePairs).toHaveLength(4);
    await bench.loopBack.close();
  });

  it('executes the others however many WRITEs are bad', async () => {
    const bench = await Bench.open();
    const [from, to] = await bench.write(WRITES, 1, 2, 3);
    await bench.finish(WRITES);
    for (const bad of [1, 2, 3]) {
      expect(bench.outcomes[bad]).toMatchObject({ status: 'REMOTE_ACCESS_ERROR' });
      from.fill(255, bad * BYTES, (bad + 1) * BYTES);
    }
    expect(bench.outcomes.filter((each) => each === 'done')).toHaveLength(WRITES - 3);
    expect(Buffer.compare(from, to)).toBe(0);
    await bench.loopBack.close();
  });

  it('leaves no queue pair behind where there is only one', async () => {
    const bench = await Bench.open();
    bench.refuseSecond();
    await bench.write(1);
    await bench.finish(1);
    expect(bench.outcomes).toMatchObject([{ status: 'GENERAL_ERROR' }]);
    expect(bench.closed).toBe(1);
    await bench.loopBack.close();
  });

  it('closes both queue pairs where the device does not take receives', async () => {
    const bench = await Bench.open();
    bench.refuseReceives();
    await bench.write(1);
    await bench.finish(1);
    expect(bench.outcomes).toMatchObject([{ status: 'GENERAL_ERROR' }]);
    expect(bench.closed).toBe(2);
    await bench.loopBack.close();
  });

  it('posts WRITEs again that were flushed with a pair, once', async () => {
    const bench = await Bench.open();
    await bench.write(2);
    await until(() => bench.pending > 0);
    bench.queuePairs[0]!.modifyToError();
    await until(() => {
      if (bench.queuePairs.length === 4 && bench.pending > 0) return true;
      bench.turn();
      return false;
    });
    expect(bench.outcomes).toEqual([]);
    bench.queuePairs[2]!.modifyToError();
    await bench.finish(2);
    for (const each of bench.outcomes) expect(each).toMatchObject({ status: 'WORK_REQUEST_FLUSHED' });
    bench.outcomes.length = 0;
    const [from, to] = await bench.write(2);
    await bench.finish(2);
    expect(Buffer.compare(from, to)).toBe(0);
    await bench.loopBack.close();
  });

  it('posts a WRITE a third time where another one broke the second pair', async () => {
    const bench = await Bench.open();
    await bench.write(2, 0);
    await until(() => bench.pending > 0);
    bench.queuePairs[0]!.modifyToError();
    await bench.finish(2);
    expect(bench.outcomes).toMatchObject([{ status: 'REMOTE_ACCESS_ERROR' }, 'done']);
    expect(bench.queuePairs).toHaveLength(6);
    await bench.loopBack.close();
  });
});
