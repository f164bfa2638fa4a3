import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  CompletionWord,
  completionFailure,
  Opcode,
  PostError,
  type QueuePair,
  type SendWorkRequest,
  WorkRequestFlag,
} from '../src/index.js';
import { completions, connectBoth, connectedSides, type Side, side, until } from './support/pair.js';
import { canRun, type ModelRequest, runnable } from './support/wait-model.js';

const TRANSPORTS = ['shm', 'tcp'] as const;
const DEPTH = 64;
const RUNS = 25;

function makeQueuePair({ domain, queue }: Side): QueuePair {
  return domain.createQueuePair({
    sendQueue: queue,
    receiveQueue: queue,
    sendDepth: DEPTH,
    receiveDepth: DEPTH,
  });
}

async function join(one: Side, other: Side): Promise<[QueuePair, QueuePair]> {
  const [a, b] = [makeQueuePair(one), makeQueuePair(other)];
  await connectBoth(a, b);
  return [a, b];
}

function receiveOften(queuePair: QueuePair): void {
  queuePair.postReceive(...Array.from({ length: DEPTH }, (_, id) => ({ id })));
}

const condition = (most: number) => fc.record({ of: fc.nat(), receives: fc.integer({ min: 1, max: most }) });
const request = (most: number) => fc.array(condition(most), { maxLength: 3 });

const send = (conditions: ModelRequest, queuePairs: readonly QueuePair[]): SendWorkRequest => ({
  id: 0,
  opcode: 'SEND',
  signaled: false,
  waitFor: conditions.map(({ of, receives }) => ({ queuePair: queuePairs[of]!, receives })),
});

interface Plan {
  /** A queue, and what the request posted to it waits for. */
  readonly posts: readonly (readonly [queue: number, conditions: ModelRequest])[];
  /** Queue pairs that receive, one message each. */
  readonly triggers: readonly number[];
  /** A queue pair that fails after half of the triggers. */
  readonly breaks: number;
}

/** Indices of generated plans are taken modulo the number of queue pairs. */
function within(plan: Plan, inputs: number, outputs: number): Plan {
  return {
    posts: plan.posts.map(([queue, conditions]) => [
      queue % outputs,
      conditions.map(({ of, receives }) => ({ of: of % inputs, receives })),
    ]),
    triggers: plan.triggers.map((input) => input % inputs),
    breaks: plan.breaks % inputs,
  };
}

/** A device that relays, and one around it: `inputs` connections to the relay, `outputs` from it. */
class Graph {
  readonly #queues: ModelRequest[][];
  readonly #received: number[];
  readonly #arrived: number[];
  #broken: number | undefined;

  constructor(
    private readonly outer: Side,
    private readonly relay: Side,
    private readonly inputs: readonly [from: QueuePair, incoming: QueuePair][],
    private readonly outputs: readonly [outgoing: QueuePair, to: QueuePair][],
  ) {
    this.#queues = outputs.map(() => []);
    this.#received = inputs.map(() => 0);
    this.#arrived = outputs.map(() => 0);
  }

  static async make(transport: 'shm' | 'tcp', inputs: number, outputs: number): Promise<Graph> {
    const [outer, relay] = [
      await side({ device: 'soft', transport }),
      await side({ device: 'soft', transport }),
    ];
    const into = await Promise.all(Array.from({ length: inputs }, () => join(outer, relay)));
    const out = await Promise.all(Array.from({ length: outputs }, () => join(relay, outer)));
    for (const [, queuePair] of [...into, ...out]) receiveOften(queuePair);
    return new Graph(outer, relay, into, out);
  }

  post(queue: number, conditions: ModelRequest): void {
    const sources = this.inputs.map(([, incoming]) => incoming);
    this.outputs[queue]![0].postSend(send(conditions, sources));
    this.#queues[queue]!.push(conditions);
  }

  /** One message to queue pair `input`; then what the model says has arrived, and nothing else. */
  async trigger(input: number): Promise<void> {
    if (input === this.#broken) return;
    const [from, incoming] = this.inputs[input]!;
    from.postSend({ id: 0, opcode: 'SEND', signaled: false });
    // The model counts it only now: a queue pair that breaks while it is on its way does not get it.
    await until(`the message to queue pair ${input}`, () =>
      this.relay.queue
        .poll()
        .find(({ queuePair, status }) => queuePair === incoming.number && status === 'SUCCESS'),
    );
    this.#received[input]! += 1;
    await this.settle();
  }

  async settle(): Promise<void> {
    const expected = runnable(this.#queues, this.#received);
    await until(`arrivals ${expected}; there are ${this.#arrived}`, () =>
      this.#haveArrived(expected) ? true : undefined,
    );
  }

  /** Counts new arrivals; throws if there are more than these. */
  #haveArrived(expected: readonly number[]): boolean {
    for (const { queuePair, opcode, status } of this.outer.queue.poll()) {
      const at = this.outputs.findIndex(([, to]) => to.number === queuePair);
      if (at >= 0 && opcode === 'RECEIVE' && status === 'SUCCESS') this.#arrived[at]! += 1;
    }
    this.#arrived.forEach((count, at) => {
      if (count > expected[at]!) throw new Error(`queue ${at} sent ${count} messages, not ${expected[at]}`);
    });
    return this.#arrived.every((count, at) => count === expected[at]!);
  }

  /** Queue pair `input` fails; queues whose first waiting request needs it fail, all others go on. */
  async break(input: number): Promise<void> {
    const ran = runnable(this.#queues, this.#received);
    this.#broken = input;
    this.inputs[input]![1].modifyToError();
    const hopeless = this.#queues.flatMap((queue, at) => {
      const needed = queue[ran[at]!]?.some(
        ({ of, receives }) => of === input && receives > this.#received[of]!,
      );
      return needed ? [at] : [];
    });
    for (const at of hopeless) {
      const [outgoing] = this.outputs[at]!;
      await until(`queue ${at} to fail`, () => {
        this.#haveArrived(ran);
        return outgoing.state === 'ERROR' ? true : undefined;
      });
      // What was flushed does not run later.
      this.#queues[at] = this.#queues[at]!.slice(0, ran[at]!);
    }
    this.outputs.forEach(([outgoing], at) => {
      expect(outgoing.state).toBe(hopeless.includes(at) ? 'ERROR' : 'RTS');
    });
  }

  async close(): Promise<void> {
    await Promise.all([this.outer.device.close(), this.relay.device.close()]);
  }
}

const plans: fc.Arbitrary<Plan> = fc.record({
  posts: fc.array(fc.tuple(fc.nat(), request(4)), { minLength: 1, maxLength: 12 }),
  triggers: fc.array(fc.nat(), { maxLength: 14 }),
  breaks: fc.nat(),
});

describe.each(TRANSPORTS)('requests that wait, over %s', (transport) => {
  it('run when the model says so, whatever breaks', async () => {
    const property = fc.asyncProperty(fc.integer({ min: 1, max: 3 }), plans, async (width, anyPlan) => {
      const plan = within(anyPlan, width, 3);
      const graph = await Graph.make(transport, width, 3);
      try {
        for (const [queue, conditions] of plan.posts) graph.post(queue, conditions);
        await graph.settle();
        const half = plan.triggers.length >> 1;
        for (const input of plan.triggers.slice(0, half)) await graph.trigger(input);
        await graph.break(plan.breaks);
        for (const input of plan.triggers.slice(half)) await graph.trigger(input);
      } finally {
        await graph.close();
      }
    });
    await fc.assert(property, { numRuns: RUNS });
  });

  it('are refused if and only if they can never run', async () => {
    const steps = fc.array(fc.tuple(fc.nat(), request(3)), { maxLength: 14 });
    const property = fc.asyncProperty(steps, async (posts) => {
      const own = await side({ device: 'soft', transport });
      try {
        const queuePairs = [...(await join(own, own)), ...(await join(own, own))];
        for (const each of queuePairs) receiveOften(each);
        const queues: ModelRequest[][] = queuePairs.map(() => []);
        for (const [anyQueue, anyConditions] of posts) {
          const at = anyQueue % queuePairs.length;
          const conditions = anyConditions.map(({ of, receives }) => ({
            of: of % queuePairs.length,
            receives,
          }));
          queues[at]!.push(conditions);
          const possible = canRun(queues, at);
          expect(accepts(queuePairs[at]!, send(conditions, queuePairs))).toBe(possible);
          if (!possible) queues[at]!.pop();
        }
        // With enough requests that do not wait, everything completes.
        for (const each of queuePairs) each.postSend(...Array.from({ length: 3 }, () => send([], [])));
        const sent = queues.reduce((total, queue) => total + queue.length + 3, 0);
        for (const { status } of await completions(own.queue, sent)) expect(status).toBe('SUCCESS');
      } finally {
        await own.device.close();
      }
    });
    await fc.assert(property, { numRuns: RUNS });
  });
});

/** Whether the request is accepted; it must not be refused for anything but a circle. */
function accepts(queuePair: QueuePair, request: SendWorkRequest): boolean {
  try {
    queuePair.postSend(request);
    return true;
  } catch (error) {
    if (!(error instanceof PostError)) throw error;
    expect(error.code).toBe('ERR_RDMC_WAIT_CIRCLE');
    return false;
  }
}

describe.each(TRANSPORTS)('a queue pair that fails because a request of it waits, over %s', (transport) => {
  it('says so, and the one for which it waited does not', async () => {
    const [a, b] = await connectedSides({ device: 'soft', transport });
    onTestFinished(async () => void (await Promise.all([a.device.close(), b.device.close()])));
    const [, incoming] = await join(b, a);
    const [outgoing] = await join(a, b);
    const waitFor = [{ queuePair: incoming, receives: 1 }];
    outgoing.postSend({ id: 1, opcode: 'SEND', waitFor });
    incoming.modifyToError();
    await completions(a.queue, 1);
    const brokenByWait = (queuePair: QueuePair) => queuePair.queryAttributes().brokenByWait;
    expect([outgoing, incoming].map(brokenByWait)).toEqual([1, 0]);
  });
});

describe('the fast path', () => {
  it('writes conditions behind the entries, and reports refused ones', async () => {
    const [a, b] = await connectedSides({ device: 'soft', transport: 'shm' });
    onTestFinished(async () => void (await Promise.all([a.device.close(), b.device.close()])));
    const [from, incoming] = await join(b, a);
    b.queuePair.postReceive({ id: 1 }, { id: 2 });
    incoming.postReceive({ id: 3 });
    const codes: unknown[] = [];
    const batch = a.device.createSubmissionQueue({
      onRefused: (words) =>
        codes.push([words[CompletionWord.ID_LOW], completionFailure(words, 0).refusal?.code]),
    });
    const region = await a.domain.allocate(64);
    batch.begin(Opcode.SEND, a.queuePair.number, 7, WorkRequestFlag.SIGNALED);
    batch.waitFor(incoming.number, 1);
    for (let i = 0; i < 4; i += 1) batch.sge(region.address, 0, region.lkey);
    batch.begin(Opcode.SEND, a.queuePair.number, 8, WorkRequestFlag.SIGNALED);
    batch.inline(new Uint8Array(0));
    batch.begin(Opcode.SEND, a.queuePair.number, 9, WorkRequestFlag.SIGNALED);
    batch.waitFor(incoming.number + 1, 1);
    batch.flush();
    expect(codes).toEqual([[9, 'ERR_RDMC_WAIT_UNKNOWN']]);
    expect(a.queue.poll()).toEqual([]);
    const released = a.device.counters().released!;
    from.postSend({ id: 4, opcode: 'SEND' });
    const ends = await completions(a.queue, 3);
    expect(ends.map(({ id }) => id).sort()).toEqual([3, 7, 8]);
    expect(a.device.counters().released).toBe(released + 1);
  });

  it.each([
    ['before', (batch: Batch) => batch.inline(new Uint8Array(129)), (batch: Batch) => batch.waitFor(1, 1)],
    ['after', (batch: Batch) => batch.waitFor(1, 1), (batch: Batch) => batch.inline(new Uint8Array(129))],
  ])('checks inline bytes %s the conditions', async (_when, first, second) => {
    const { device } = await side({ device: 'soft', transport: 'shm' });
    onTestFinished(() => device.close());
    const batch = device.createSubmissionQueue();
    batch.begin(Opcode.SEND, 1, 1, 0);
    first(batch);
    expect(() => second(batch)).toThrow(expect.objectContaining({ code: 'ERR_RDMC_INLINE_TOO_LONG' }));
  });

  it('refuses a fifth condition', async () => {
    const { device } = await side({ device: 'soft', transport: 'shm' });
    onTestFinished(() => device.close());
    const batch = device.createSubmissionQueue();
    batch.begin(Opcode.SEND, 1, 1, 0);
    for (let i = 0; i < 4; i += 1) batch.waitFor(1, 1);
    expect(() => batch.waitFor(1, 1)).toThrow(expect.objectContaining({ code: 'ERR_RDMC_TOO_MANY_WAITS' }));
  });
});

type Batch = ReturnType<Side['device']['createSubmissionQueue']>;
