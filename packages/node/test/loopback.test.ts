import { recordTable } from '@rdmc/dataplane';
import { LoopbackNodes, Node, nodeProtocol } from '@rdmc/node';
import { rejection, until, watchedTrace } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';

const records = recordTable({ commands: {}, events: {} });
const worker = new URL(
  'data:text/javascript,export default{records:{commands:{},events:{}},start:()=>({commands:{}})}',
);

/** A protocol without commands. `begin` is called before its API is there. */
function idle(begin: (id: number) => Promise<void> = async () => {}) {
  return nodeProtocol({
    name: 'idle',
    version: 1,
    records,
    worker,
    async application(context) {
      context.connect({});
      await begin(context.id);
      return { id: context.id };
    },
  });
}

describe('nodes of one process', () => {
  it('join in an array, know one another, and close together', async () => {
    const nodes = await Node.loopback(3, { device: 'soft', protocols: { idle: idle() } });
    expect(nodes).toBeInstanceOf(LoopbackNodes);
    expect(nodes.map(({ id }) => id)).toEqual([0, 1, 2]);
    expect(nodes[2]!.idle).toEqual({ id: 2 });
    expect(nodes.map(({ id }) => id)).not.toBeInstanceOf(LoopbackNodes);
    expect([...nodes[0]!.mesh.peers.keys()]).toEqual([1, 2]);
    await nodes[Symbol.asyncDispose]();
    for (const { signal } of nodes) expect(signal.aborted).toBe(true);
    await nodes.close();
  });

  it('are all closed if one of them fails, and the error is that of the first failure', async () => {
    const joins = watchedTrace('@rdmc/node:join');
    const first = () =>
      joins.find(({ id, result }) => id === 0 && result !== undefined)?.result as Node | undefined;
    const begin = async (id: number): Promise<void> => {
      if (id === 0) return;
      await until(() => first() !== undefined);
      throw new Error('no API at 1');
    };
    const { message } = await rejection(
      Node.loopback(2, { device: 'soft', protocols: { idle: idle(begin) } }),
    );
    expect(message).toBe('no API at 1');
    expect(first()!.signal.aborted).toBe(true);
    await first()!.closed;
    const options = { device: 'soft', protocols: { idle: idle() }, signal: AbortSignal.abort() };
    expect(await rejection(Node.loopback(2, options))).toMatchObject({ name: 'AbortError' });
    expect(await rejection(Node.loopback(2, { protocols: {} }))).toMatchObject({
      code: 'ERR_RDMC_INVALID_OPTION',
    });
  });

  it.each([0, -1, 1.5, 257, '3'])('are refused for the number %s', async (count) => {
    const refused = Node.loopback(count as number, { protocols: { idle: idle() } });
    expect(await rejection(refused)).toMatchObject({ name: 'NodeError', code: 'ERR_RDMC_INVALID_OPTION' });
  });
});
