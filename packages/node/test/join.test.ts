import { once } from 'node:events';
import { call, json, numbers, protocolWorker, recordTable } from '@rdmc/dataplane';
import { Mesh } from '@rdmc/mesh';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { Node, type NodeOptions, type NodeProtocol, nodeProtocol, type Protocols } from '@rdmc/node';
import { membersAt, rejection } from '@rdmc/testing';
import { describe, expect, it, onTestFinished } from 'vitest';

const records = recordTable({ commands: {}, events: {} });
const module = (before = ''): URL =>
  new URL(
    `data:text/javascript,${before}export default{records:{commands:{},events:{}},start:()=>({commands:{}})}`,
  );

/** A protocol that does nothing. */
function idle(overrides: Partial<NodeProtocol<{ said: string }>> = {}) {
  return nodeProtocol({
    name: 'idle',
    version: 1,
    records,
    worker: module(),
    application: (context) => {
      context.connect({});
      return { said: `idle at ${context.id}` };
    },
    ...overrides,
  });
}
const IDLE = { one: idle() };

/** The options of some members, which may then join or not. */
async function members(count: number, options: Partial<NodeOptions> = {}): Promise<NodeOptions[]> {
  const reserved = await reserveLoopbackPorts(count);
  onTestFinished(() => {
    for (const { server } of reserved) server.close();
  });
  const list = membersAt(reserved);
  return reserved.map(({ server }, id) => ({ id, members: list, server, device: 'soft', ...options }));
}

const join = <Set extends Protocols>(options: NodeOptions, protocols: Set) =>
  Node.join({ ...options, protocols });

describe('a protocol in the application’s thread', () => {
  it('connects to its API like a protocol in the worker, and ends with the node', async () => {
    const table = recordTable({
      commands: { double: call(json<number>(), json<number>()) },
      events: { began: numbers<[number]>(1) },
    });
    const seen: string[] = [];
    const protocol = nodeProtocol({
      name: 'inline',
      version: 1,
      records: table,
      worker: protocolWorker(table, ({ events, data, counter }) => {
        events.began(data as number);
        counter('starts').add(1);
        return { commands: { double: (value) => 2 * value }, stop: () => void seen.push('stopped') };
      }),
      data: () => 7,
      application: (context) => {
        const client = context.connect({ began: (value) => void seen.push(`began with ${value}`) });
        expect(() => context.connect({ began: () => {} })).toThrow(/already has a client/);
        return { client };
      },
    });
    const [options] = await members(1);
    const node = await join(options!, { inline: protocol });
    expect(await node.inline.client.double(4)).toBe(8);
    expect(node.counters()).toMatchObject({ commands: 1, named: { 'inline.starts': 1 } });
    expect(seen).toEqual(['began with 7']);
    await node.close();
    expect(seen).toEqual(['began with 7', 'stopped']);
    await expect(node.inline.client.double(4)).rejects.toMatchObject({ code: 'ERR_RDMC_DATAPLANE_CLOSED' });
  });
});

describe('a node that ends', () => {
  it('aborts its signal at once, and resolves `closed` when everything is closed', async () => {
    const [options] = await members(1);
    const node = await join(options!, IDLE);
    expect(node.signal.aborted).toBe(false);
    const closing = node.close();
    expect(node.signal.reason).toMatchObject({ code: 'ERR_RDMC_NODE_CLOSED' });
    await Promise.all([closing, node.closed, node.mesh.closed]);
    expect(node.mesh.signal.reason).toMatchObject({ code: 'ERR_RDMC_MESH_CLOSED' });
  });

  it('has the error of its worker if the worker died', async () => {
    const [options] = await members(1);
    const flag = new Int32Array(new SharedArrayBuffer(4));
    const dying = new URL(
      'data:text/javascript,export default{records:{commands:{},events:{}},start:({data})=>{' +
        'setInterval(()=>{if(Atomics.load(data,0))process.exit(7)},5);return{commands:{}}}}',
    );
    const node = await join(options!, { one: idle({ worker: dying, data: () => flag }) });
    Atomics.store(flag, 0, 1);
    await new Promise((resolve) => node.signal.addEventListener('abort', resolve));
    expect(node.signal.reason).toMatchObject({ code: 'ERR_RDMC_DATAPLANE_DIED' });
    await node.close();
  });
});

describe('joining', () => {
  it('gives every member the mesh, a running data plane and the APIs, and logs the device and the reason', async () => {
    const said: object[] = [];
    const begun: string[] = [];
    const logger = {
      info: (details: object) => void said.push(details),
      debug: (_details: object, message: string) => void begun.push(message),
    };
    const nodes = await Promise.all(
      (await members(2, { logger })).map((options) =>
        join(options, { one: idle(), other: idle({ name: 'other' }) }),
      ),
    );
    expect(nodes.map(({ mesh }) => [...mesh.peers.keys()])).toEqual([[1], [0]]);
    expect(nodes.map(({ one, other }) => [one.said, other.said])).toEqual([
      ['idle at 0', 'idle at 0'],
      ['idle at 1', 'idle at 1'],
    ]);
    for (const { device } of nodes) expect(device.kind).toBe('soft');
    for (const id of [0, 1]) {
      expect(said).toContainEqual({ id, device: 'soft', reason: expect.stringMatching(/./) });
    }
    // The worker uses the same logger.
    expect(begun.filter((message) => message === 'data plane started')).toHaveLength(2);
    await Promise.all(nodes.map((node) => node.close()));
  });

  it('starts the worker while the members join', async () => {
    const [early, late] = await members(2);
    const name = 'loaded by the early one';
    const loaded = new BroadcastChannel(name);
    onTestFinished(() => loaded.close());
    const heard = once(loaded, 'message');
    const worker = module(`const c=new BroadcastChannel('${name}');c.postMessage(1);c.close();`);
    const first = join(early!, { one: idle({ worker }) });
    await heard;
    const nodes = await Promise.all([first, join(late!, IDLE)]);
    await Promise.all(nodes.map((node) => node.close()));
  });

  it('does not compare with members without protocols, and announces attributes', async () => {
    const [options, bare] = await members(2, { attributes: { role: 'server' } });
    const { device: _, ...meshOptions } = bare!;
    const [node, mesh] = await Promise.all([join(options!, IDLE), Mesh.join(meshOptions)]);
    expect(mesh.peers.get(0)!.attributes).toMatchObject({ role: 'server', 'rdmc.protocols': 'idle/1' });
    await Promise.all([node.close(), mesh.close()]);
  });

  it('gives each node its own data, and closes the APIs before the mesh', async () => {
    const made: object[] = [];
    const seen: unknown[] = [];
    const closed: string[] = [];
    const data = () => made[made.push({}) - 1];
    const application: NodeProtocol['application'] = (context) => {
      seen.push(context.data);
      return {
        close: () => void closed.push(context.mesh.peers.get(1 - context.id)!.state),
      };
    };
    const protocol = nodeProtocol({ name: 'idle', version: 1, records, worker: module(), data, application });
    const [first, second] = await Promise.all((await members(2)).map((each) => join(each, { protocol })));
    expect(new Set(seen)).toEqual(new Set(made));
    expect(made).toHaveLength(2);
    await first!.close();
    expect(closed).toEqual(['connected']);
    await second!.close();
    await second!.close();
    expect(closed).toHaveLength(2);
  });
});

describe('members that do not run the same protocols', () => {
  it.each([
    [
      'another version',
      { one: idle({ version: 2 }) },
      'idle',
      "protocol 'idle': member 0 runs version 1, member 1 runs version 2",
      "protocol 'idle': member 1 runs version 2, member 0 runs version 1",
    ],
    [
      'one protocol more',
      { one: idle(), more: idle({ name: 'logs', version: 3 }) },
      'logs',
      "protocol 'logs': member 0 does not run it, member 1 runs version 3",
      "protocol 'logs': member 1 runs version 3, member 0 does not run it",
    ],
  ])('get an error with the protocols of both: %s', async (_, theirs, field, first, second) => {
    const both = await members(2);
    const errors = await Promise.all([rejection(join(both[0]!, IDLE)), rejection(join(both[1]!, theirs))]);
    const code = 'ERR_RDMC_PROTOCOL_MISMATCH';
    expect(errors).toEqual([
      expect.objectContaining({ code, memberId: 1, field, message: expect.stringContaining(first) }),
      expect.objectContaining({ code, memberId: 0, field, message: expect.stringContaining(second) }),
    ]);
  });
});

describe('a join that fails', () => {
  it('because the devices do not reach each other, at both members', async () => {
    const both = await members(2);
    const errors = await Promise.all(
      (['shm', 'tcp'] as const).map((transport, id) => {
        return rejection(join({ ...both[id]!, device: { device: 'soft', transport } }, IDLE));
      }),
    );
    expect(errors).toEqual([
      expect.objectContaining({ code: 'ERR_RDMC_DEVICE_MISMATCH', memberId: 1, field: 'transport' }),
      expect.objectContaining({ code: 'ERR_RDMC_DEVICE_MISMATCH', memberId: 0, field: 'transport' }),
    ]);
  });

  it.each([
    ['an unknown option', { colour: 1 }, 'ERR_RDMC_UNKNOWN_OPTION'],
    ['a signal that is not an AbortSignal', { signal: 1 }, 'ERR_RDMC_INVALID_OPTION'],
    ['an attribute of the node itself', { attributes: { 'rdmc.device': 'x' } }, 'ERR_RDMC_INVALID_OPTION'],
    ['an unknown device', { device: 'abacus' }, 'ERR_RDMC_UNKNOWN_DEVICE'],
    ['no members', { members: [] }, 'ERR_RDMC_MESH_INVALID_OPTION'],
  ])('%s', async (_, options, code) => {
    const [lonely] = await members(2, options as never);
    expect(await rejection(join(lonely!, IDLE))).toMatchObject({ code });
  });

  it.each([
    ['no protocols', {}, 'ERR_RDMC_INVALID_OPTION'],
    ['an object that is not a protocol', { one: {} }, 'ERR_RDMC_INVALID_OPTION'],
    ['a protocol with the name of a property of the node', { close: idle() }, 'ERR_RDMC_INVALID_OPTION'],
    ['one protocol twice', { one: idle(), two: idle() }, 'ERR_RDMC_DUPLICATE_PROTOCOL'],
  ])('%s', async (_, protocols, code) => {
    const [lonely] = await members(2);
    expect(await rejection(join(lonely!, protocols as never))).toMatchObject({ code });
  });

  it('because of one protocol twice; the error has both keys', async () => {
    const [lonely] = await members(2);
    const error = await rejection(join(lonely!, { one: idle(), two: idle() }));
    expect(error).toMatchObject({ message: expect.stringContaining("'one' and 'two' are both 'idle'") });
  });

  it.each([
    ['a wrong window', { windowMs: -1 }, IDLE, { code: 'ERR_RDMC_INVALID_OPTION' }],
    [
      'a protocol that does not load',
      {},
      { bad: idle({ worker: new URL('data:text/javascript,throw new Error("no")') }) },
      { code: 'ERR_RDMC_DATAPLANE_START_FAILED' },
    ],
  ])('%s, without waiting for members that never come', async (_, options, protocols, error) => {
    const [lonely] = await members(2, { timeoutMs: 600_000, ...options });
    expect(await rejection(join(lonely!, protocols))).toMatchObject(error);
  });

  it('because an API throws; the other members see that this member left', async () => {
    const both = await members(2);
    const application = (): never => {
      throw Object.assign(new Error('no'), { code: 'ERR_TEST' });
    };
    const [first, error] = await Promise.all([
      join(both[0]!, IDLE),
      rejection(join(both[1]!, { one: idle({ application }) })),
    ]);
    expect(error).toMatchObject({ code: 'ERR_TEST' });
    await new Promise((resolve) => first.mesh.onLeave(resolve));
    await first.close();
  });

  it('because members do not join: the error of the mesh names them', async () => {
    const [lonely] = await members(2, { timeoutMs: 50 });
    expect(await rejection(join(lonely!, IDLE))).toMatchObject({
      code: 'ERR_RDMC_MESH_TIMEOUT',
      missing: [expect.objectContaining({ id: 1 })],
    });
  });

  it.each(['before', 'while it waits'])('an abort %s', async (when) => {
    const abort = new AbortController();
    const [lonely] = await members(2, { signal: abort.signal, timeoutMs: 600_000 });
    if (when === 'before') abort.abort(new Error('enough'));
    const joining = rejection(join(lonely!, IDLE));
    abort.abort(new Error('enough'));
    expect(await joining).toMatchObject({
      name: 'AbortError',
      code: 'ERR_RDMC_ABORTED',
      cause: expect.objectContaining({ message: 'enough' }),
    });
  });
});

describe('a node whose worker was started ahead', () => {
  it('has the protocols of the preparation', async () => {
    const prepared = [0, 1].map(() => Node.prepare({ protocols: IDLE, windowMs: 0 }));
    const options = await members(2);
    const joining = options.map((each, id) => Node.join({ ...each, prepared: prepared[id]! }));
    const nodes = await Promise.all(joining);
    onTestFinished(async () => void (await Promise.all(nodes.map((node) => node.close()))));
    expect(nodes.map(({ one }) => one.said)).toEqual(['idle at 0', 'idle at 1']);
    expect(prepared.map(({ isWaiting }) => isWaiting)).toEqual([false, false]);
    const again = Node.join({ ...options[0]!, prepared: prepared[0]! });
    expect(await rejection(again)).toMatchObject({ code: 'ERR_RDMC_INVALID_OPTION' });
  });

  it('has no options of the worker', async () => {
    await using prepared = Node.prepare({ protocols: IDLE });
    const [options] = await members(1);
    const joining = Node.join({ ...options!, prepared, windowMs: 1 } as never);
    expect(await rejection(joining)).toMatchObject({ code: 'ERR_RDMC_UNKNOWN_OPTION' });
    expect(prepared.isWaiting).toBe(true);
    expect(() => Node.prepare({ protocols: {} })).toThrow('at least one protocol');
  });
});
