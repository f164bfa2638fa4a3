import { describe, expect, it, onTestFinished } from 'vitest';
import { Layout, Opcode, PostError, type SendWorkRequest, WorkRequestFlag } from '../src/index.js';
import { completions, connectedSides, type Side } from './support/pair.js';

const { SIGNALED, WAIT_FOR } = WorkRequestFlag;
const ACCESS = { remoteWrite: true, remoteRead: true, remoteAtomic: true };
const NOBODY = 0x0fff_ffff;

/** Connected sides with a region each: of ones at the first, of zeros at the second. */
async function setUp() {
  const [a, b] = await connectedSides({ device: 'soft', transport: 'shm' });
  onTestFinished(async () => void (await Promise.all([a.device.close(), b.device.close()])));
  const [from, to] = [await a.domain.allocate(64, ACCESS), await b.domain.allocate(64, ACCESS)];
  from.view().fill(1);
  to.view().fill(0);
  return { a, b, from, to };
}

const statuses = async ({ queue }: Side, count: number) =>
  (await completions(queue, count)).map(({ id, status }) => [id, status]);

function refusalOf(post: () => void): unknown {
  try {
    post();
  } catch (error) {
    expect(error).toBeInstanceOf(PostError);
    const { code, index } = error as PostError;
    return { code, index };
  }
  return 'accepted';
}

// Each call writes into the first slot of the device's batch.
describe('postSend does not use the slot’s earlier request', () => {
  it.each(['SEND_WITH_IMM', 'WRITE_WITH_IMM'] as const)(
    'for the immediate of %s: without one it is 0',
    async (opcode) => {
      const { a, b, to } = await setUp();
      b.queuePair.postReceive({ id: 1 }, { id: 2 });
      a.queuePair.postSend({ id: 1, opcode, immediate: 0xdead, remote: to.remote() });
      a.queuePair.postSend({ id: 2, opcode, remote: to.remote() });
      expect((await completions(b.queue, 2)).map(({ immediate }) => immediate)).toEqual([0xdead, 0]);
    },
  );

  it.each(['WRITE', 'WRITE_WITH_IMM', 'READ', 'COMPARE_AND_SWAP', 'FETCH_AND_ADD'] as const)(
    'for the target of %s: it is refused without one',
    async (opcode) => {
      const { a, from, to } = await setUp();
      const write = { opcode: 'WRITE', sges: [from.sge(0, 8)] } as const;
      a.queuePair.postSend({ id: 1, ...write, remote: to.remote(8) });
      expect(await statuses(a, 1)).toEqual([[1, 'SUCCESS']]);
      to.view().fill(0);
      const bad: SendWorkRequest = { id: 3, opcode, sges: [from.sge(0, 8)], compareOrAdd: 5n };
      const requests = [{ id: 2, ...write, remote: to.remote(16) }, bad, { ...bad, id: 4 }];
      const refused = { code: 'ERR_RDMC_INVALID_OPTION', index: 0 };
      expect(refusalOf(() => a.queuePair.postSend(bad))).toEqual(refused);
      expect(refusalOf(() => a.queuePair.postSend(...requests))).toEqual({ ...refused, index: 1 });
      expect(await statuses(a, 1)).toEqual([[2, 'SUCCESS']]);
      expect([...to.view()].map((byte, i) => (byte === 0 ? -1 : i)).filter((i) => i >= 0)).toEqual([
        16, 17, 18, 19, 20, 21, 22, 23,
      ]);
    },
  );

  it.each(['constructor', '__proto__', 'toString', 'hasOwnProperty', 'RECEIVE', ''])(
    'for the operation %j, which does not exist',
    async (name) => {
      const { a } = await setUp();
      const request = { id: 1, opcode: name as 'SEND' };
      const refused = { code: 'ERR_RDMC_UNKNOWN_OPCODE', index: 0 };
      expect(refusalOf(() => a.queuePair.postSend(request))).toEqual(refused);
    },
  );
});

describe('a submission queue does not use the slot’s earlier request', () => {
  it('for the target: without one the peer refuses the key 0', async () => {
    const { a, from, to } = await setUp();
    const batch = a.device.createSubmissionQueue();
    const write = (id: number): void => {
      batch.begin(Opcode.WRITE, a.queuePair.number, id, SIGNALED);
      batch.sge(from.address, 8, from.lkey);
    };
    write(1);
    batch.remote(to.address, to.rkey);
    batch.flush();
    expect(await statuses(a, 1)).toEqual([[1, 'SUCCESS']]);
    to.view().fill(0);
    write(2);
    batch.flush();
    expect(await statuses(a, 1)).toEqual([[2, 'REMOTE_ACCESS_ERROR']]);
    expect(to.view().every((byte) => byte === 0)).toBe(true);
  });

  it('for the immediate', async () => {
    const { a, b } = await setUp();
    const batch = a.device.createSubmissionQueue();
    b.queuePair.postReceive({ id: 1 }, { id: 2 });
    batch.begin(Opcode.SEND_WITH_IMM, a.queuePair.number, 1, SIGNALED);
    batch.immediate(0xdead);
    batch.flush();
    batch.begin(Opcode.SEND_WITH_IMM, a.queuePair.number, 2, SIGNALED);
    batch.flush();
    expect((await completions(b.queue, 2)).map(({ immediate }) => immediate)).toEqual([0xdead, 0]);
  });

  it.each(['FETCH_AND_ADD', 'COMPARE_AND_SWAP'] as const)('for the operands of %s', async (name) => {
    const { a, from, to } = await setUp();
    const batch = a.device.createSubmissionQueue();
    const word = new BigUint64Array(to.view().buffer, to.view().byteOffset, 1);
    const atomic = (id: number): void => {
      batch.begin(Opcode[name], a.queuePair.number, id, SIGNALED);
      batch.sge(from.address, 8, from.lkey);
      batch.remote(to.address, to.rkey);
    };
    // Both operations add these to 0, or swap them with 0.
    atomic(1);
    batch.atomic(name === 'FETCH_AND_ADD' ? 5 : 0, name === 'FETCH_AND_ADD' ? 6 : 0, 5, 6);
    batch.flush();
    expect(await statuses(a, 1)).toEqual([[1, 'SUCCESS']]);
    expect(word[0]).toBe(0x6_0000_0005n);
    word[0] = 0n;
    atomic(2);
    batch.flush();
    expect(await statuses(a, 1)).toEqual([[2, 'SUCCESS']]);
    expect(word[0]).toBe(0n);
  });

  it('for conditions, even if the flags say that it has some', async () => {
    const { a } = await setUp();
    const batch = a.device.createSubmissionQueue();
    const begin = (flags: number): void => batch.begin(Opcode.SEND, a.queuePair.number, 1, flags);
    begin(SIGNALED);
    for (let i = 0; i < Layout.MAX_WAITS; i += 1) batch.waitFor(NOBODY, 1);
    expect(refusalOf(() => batch.flush())).toMatchObject({ code: 'ERR_RDMC_WAIT_UNKNOWN' });
    begin(SIGNALED | WAIT_FOR);
    expect(refusalOf(() => batch.flush())).toMatchObject({ code: 'ERR_RDMC_TOO_MANY_WAITS' });
    begin(SIGNALED | WAIT_FOR);
    expect(() => batch.waitFor(NOBODY, 1)).not.toThrow();
  });
});
