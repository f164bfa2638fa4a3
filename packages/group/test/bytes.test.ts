import { Buffer } from 'node:buffer';
import { fillFrom, PATIENT, rejection, until } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import {
  clusterForAll,
  collect,
  createEverywhere,
  filledRegion,
  groupIdForEach,
  sha256,
} from './support/cluster.js';

describe('a message that is given as bytes', () => {
  const nodes = clusterForAll(3);
  const group = groupIdForEach();

  it('reaches every receiver, in the order of the calls, beside regions', async () => {
    const groups = await createEverywhere(nodes, { ...group, members: [0, 1, 2] });
    const [root, ...receivers] = groups;
    const collecting = receivers.map(collect);
    const buffer = Buffer.alloc(100_000);
    fillFrom(1, buffer);
    const region = await filledRegion(nodes[0]!, 5000, 2);
    const shared = new Uint8Array(new SharedArrayBuffer(3000), 1000, 2000);
    fillFrom(3, shared);
    const expected = [
      sha256(buffer),
      sha256(region.view()),
      sha256(shared),
      sha256(buffer.subarray(10, 30)),
      sha256(buffer.subarray(99_990)),
      sha256(new Uint8Array()),
      sha256(region.view()),
    ];
    await Promise.all([
      root!.send(buffer),
      root!.send(region),
      root!.send(shared),
      root!.send(buffer, { offset: 10, byteLength: 20 }),
      root!.send(buffer, { offset: 99_990 }),
      root!.send(new Uint8Array()),
      root!.send(region),
    ]);
    await Promise.all(groups.map((group) => group.close()));
    for (const messages of await Promise.all(collecting)) {
      expect(messages.map(({ hash }) => hash)).toEqual(expected);
    }
    await region.close();
  });

  it('may be changed as soon as send has resolved', async () => {
    const [root, receiver] = await createEverywhere(nodes, {
      ...group,
      members: [0, 1],
      sendBufferBytes: 4096,
      smallMessageBytes: 0,
    });
    const collecting = collect(receiver!);
    const bytes = new Uint8Array(4096);
    const expected: string[] = [];
    for (let i = 0; i < 20; i += 1) {
      fillFrom(i, bytes);
      expected.push(sha256(bytes));
      await root!.send(bytes);
    }
    await root!.close();
    expect((await collecting).map(({ hash }) => hash)).toEqual(expected);
  });

  it('waits while all memory for copies is in use, and keeps its place', async () => {
    const options = { ...group, members: [0, 1], sendBufferBytes: 8192, smallMessageBytes: 0 };
    const [root, receiver] = await createEverywhere(nodes, options);
    // As many messages as wait unread, so that nothing more is sent until the receiver reads.
    const sends = Array.from({ length: 100 }, (_, i) => root!.send(Buffer.alloc(8000, i)));
    const region = await filledRegion(nodes[0]!, 10, 1);
    sends.push(root!.send(region));
    const last = root!.send(Buffer.from('last'));
    await until(() => receiver!.progress().messagesReceived === 64);
    const [messages] = await Promise.all([collect(receiver!), root!.close()]);
    await Promise.all([...sends, last]);
    expect(messages.map(({ byteLength }) => byteLength)).toEqual([...Array(100).fill(8000), 10, 4]);
    expect(messages.slice(0, 100).map(({ hash }) => hash)).toEqual(
      Array.from({ length: 100 }, (_, i) => sha256(Buffer.alloc(8000, i))),
    );
    await region.close();
  });

  it('is withdrawn by its signal while it waits for memory, and messages behind it are sent', async () => {
    let admit!: () => void;
    const admitted = new Promise<void>((resolve) => {
      admit = resolve;
    });
    const options = { ...PATIENT, ...group, members: [0, 1], sendBufferBytes: 4096, smallMessageBytes: 0 };
    const incoming = async (byteLength: number) => {
      await admitted;
      return nodes[1]!.allocate(byteLength);
    };
    const [root, receiver] = await Promise.all([
      nodes[0]!.createGroup(options),
      nodes[1]!.createGroup({ ...options, incoming }),
    ]);
    const collecting = collect(receiver);
    const controller = new AbortController();
    const first = root.send(Buffer.from('first'));
    const withdrawn = root.send(Buffer.from('withdrawn'), { signal: controller.signal });
    const region = await filledRegion(nodes[0]!, 3, 1);
    const second = root.send(region);
    const third = root.send(Buffer.from('third!'));
    controller.abort();
    expect(await rejection(withdrawn)).toMatchObject({ name: 'AbortError', code: 'ERR_RDMC_ABORTED' });
    expect(await rejection(root.send(Buffer.from('x'), { signal: controller.signal }))).toMatchObject({
      code: 'ERR_RDMC_ABORTED',
    });
    admit();
    await Promise.all([first, second, third, root.close()]);
    expect((await collecting).map(({ byteLength }) => byteLength)).toEqual([5, 3, 6]);
    await region.close();
  });

  it('is refused with advice if it is larger than the memory, text, another array, or detached', async () => {
    const [root, receiver] = await createEverywhere(nodes, {
      ...group,
      members: [0, 1],
      sendBufferBytes: 1000,
    });
    const large = await rejection(root!.send(new Uint8Array(1001)));
    expect(large).toMatchObject({ name: 'GroupError', code: 'ERR_RDMC_MESSAGE_TOO_LARGE' });
    expect((large as Error).message).toContain('sendBufferBytes');
    const transferred = new Uint8Array(10);
    structuredClone(transferred.buffer, { transfer: [transferred.buffer] });
    const cases: [given: unknown, advice: string][] = [
      ['hello', 'Buffer.from(text)'],
      [new Float64Array(2), 'new Uint8Array(view.buffer'],
      [new DataView(new ArrayBuffer(2)), 'new Uint8Array(view.buffer'],
      [new ArrayBuffer(2), 'new Uint8Array(buffer)'],
      [new SharedArrayBuffer(2), 'new Uint8Array(buffer)'],
      [transferred, 'detached'],
    ];
    for (const [given, advice] of cases) {
      const error = await rejection(root!.send(given as Uint8Array));
      expect(error).toMatchObject({ code: 'ERR_RDMC_INVALID_MESSAGE' });
      expect((error as Error).message).toContain(advice);
    }
    for (const part of [{ offset: 9, byteLength: 2 }, { offset: -1 }, { byteLength: 0.5 }, { offset: 11 }]) {
      expect(await rejection(root!.send(new Uint8Array(10), part))).toMatchObject({
        code: 'ERR_RDMC_INVALID_MESSAGE',
      });
    }
    expect(await rejection(receiver!.send(new Uint8Array(1)))).toMatchObject({ code: 'ERR_RDMC_NOT_ROOT' });
    await Promise.all([root!.close(), receiver!.close()]);
    expect(await rejection(root!.send(new Uint8Array(1)))).toMatchObject({ code: 'ERR_RDMC_GROUP_CLOSED' });
  });

  it('is refused if its buffer is detached while it waits for memory', async () => {
    const options = { ...group, members: [0, 1], smallMessageBytes: 0 };
    const [root, receiver] = await createEverywhere(nodes, options);
    const collecting = collect(receiver!);
    const bytes = new Uint8Array(10);
    const sent = root!.send(bytes); // the memory for it is not allocated yet
    structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
    const next = root!.send(Buffer.from('next'));
    expect(await rejection(sent)).toMatchObject({ code: 'ERR_RDMC_INVALID_MESSAGE' });
    await Promise.all([next, root!.close()]);
    expect((await collecting).map(({ byteLength }) => byteLength)).toEqual([4]);
  });

  it('rejects when the group fails, also while it waits for memory', async () => {
    const [root, receiver] = await createEverywhere(nodes, {
      ...group,
      members: [0, 1],
      sendBufferBytes: 4096,
      smallMessageBytes: 0,
    });
    const sends = Array.from({ length: 100 }, () =>
      rejection(root!.send(Buffer.alloc(4096))).catch(() => undefined),
    );
    await until(() => receiver!.progress().messagesReceived === 64);
    await rejection(receiver!.close({ timeoutMs: 1, signal: AbortSignal.abort() }));
    const errors = (await Promise.all(sends)).filter((error) => error !== undefined);
    expect(errors.length).toBeGreaterThan(0);
    for (const error of errors) expect(error).toMatchObject({ code: 'ERR_RDMC_MEMBER_LOST', memberId: 1 });
    await root!.closed;
  });
});
