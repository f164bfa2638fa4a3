import { recordTable } from '@rdmc/dataplane';
import type { MemberEvent } from '@rdmc/mesh';
import {
  type LiveJoinOptions,
  Node,
  type NodeProtocol,
  type NodeWith,
  nodeProtocol,
  type Protocols,
} from '@rdmc/node';
import { rejection } from '@rdmc/testing';
import { describe, expect, it, onTestFinished } from 'vitest';

const KEY = 'a key of the tests, of more than sixteen bytes';
const IDLE = new URL(
  'data:text/javascript,export default{records:{commands:{},events:{}},start:()=>({commands:{}})}',
);

/** A protocol that does nothing. */
function idle(overrides: Partial<NodeProtocol<object>> = {}) {
  return nodeProtocol({
    name: 'idle',
    version: 1,
    records: recordTable({ commands: {}, events: {} }),
    worker: IDLE,
    application: (context) => {
      context.connect({});
      return {};
    },
    ...overrides,
  });
}

type Options = Partial<LiveJoinOptions<Protocols>>;

/** Joins through the given nodes; through nobody: as the first one. */
async function enter(
  id: number,
  through: readonly NodeWith<Protocols>[],
  options: Options = {},
): Promise<NodeWith<Protocols>> {
  const all: LiveJoinOptions<Protocols> = {
    id,
    join: through.map(({ members, id: other }) => {
      const { host, port } = members.find((member) => member.id === other)!;
      return `${host}:${port}`;
    }),
    listen: { host: '127.0.0.1', port: 0 },
    key: KEY,
    device: 'soft',
    windowMs: 0,
    timeoutMs: 60_000,
    protocols: { one: idle() },
    ...options,
  };
  const node = await Node.join(all);
  onTestFinished(() => node.close());
  return node;
}

/** The next event of a kind. */
function event(node: Node, type: string, member: number): Promise<MemberEvent> {
  return new Promise((resolve) => {
    const events = node.onMember((each) => {
      if (each.type !== type || each.member !== member) return;
      events.close();
      resolve(each);
    });
  });
}

function ended(node: Node): Promise<{ code?: string }> {
  return new Promise((resolve) => {
    if (node.signal.aborted) resolve(node.signal.reason);
    else node.signal.addEventListener('abort', () => resolve(node.signal.reason), { once: true });
  });
}

describe('a node that joins through another one', () => {
  it('is reported when it joins and leaves; its next process has a higher incarnation', async () => {
    const first = await enter(0, []);
    const joined = event(first, 'joined', 1);
    const second = await enter(1, [first]);
    expect(await joined).toMatchObject({ incarnation: 1 });
    expect(second.members.map(({ id }) => id)).toEqual([0, 1]);
    expect([first.incarnation, second.incarnation]).toEqual([1, 1]);
    const left = event(first, 'left', 1);
    await second.close();
    expect(await left).toMatchObject({ incarnation: 1 });
    const again = event(first, 'joined', 1);
    const third = await enter(1, [first]);
    expect(await again).toMatchObject({ incarnation: 2 });
    expect(third.incarnation).toBe(2);
  });

  it('closes itself when its id belongs to another process, and says why', async () => {
    const first = await enter(0, []);
    const second = await enter(1, [first]);
    const reason = ended(second);
    const third = await enter(1, [first], { replace: true });
    expect(await reason).toMatchObject({ code: 'ERR_RDMC_REPLACED' });
    await second.closed;
    expect(third.signal.aborted).toBe(false);
    expect(third.incarnation).toBe(2);
  });
});

describe('a node that does not fit is refused, and nobody hears of it', () => {
  const wrong: [string, Options, object][] = [
    [
      'another version of a protocol',
      { protocols: { one: idle({ version: 2 }) } },
      { code: 'ERR_RDMC_PROTOCOL_MISMATCH', memberId: 0, field: 'idle' },
    ],
    [
      'another protocol',
      { protocols: { one: idle({ name: 'other' }) } },
      { code: 'ERR_RDMC_PROTOCOL_MISMATCH', memberId: 0 },
    ],
    [
      'another transport',
      { device: { device: 'soft', transport: 'tcp' } },
      { code: 'ERR_RDMC_DEVICE_MISMATCH', memberId: 0, field: 'transport' },
    ],
    ['another key', { key: `${KEY}, and another one` }, { code: 'ERR_RDMC_MESH_WRONG_KEY' }],
    ['another cluster', { clusterId: 'another' }, { code: 'ERR_RDMC_MESH_OTHER_CLUSTER' }],
    ['an id in use', { id: 0 }, { code: 'ERR_RDMC_ID_IN_USE', memberId: 0 }],
  ];
  it.each(wrong)('%s', async (_name, options, error) => {
    const first = await enter(0, []);
    const events: unknown[] = [];
    first.onMember((each) => events.push(each));
    expect(await rejection(enter(1, [first], options))).toMatchObject(error);
    expect(first.members.length).toBe(1);
    expect(events).toEqual([]);
  });

  it('a list of members as well', async () => {
    const error = await rejection(enter(0, [], { members: [] } as object));
    expect(error).toMatchObject({ code: 'ERR_RDMC_INVALID_OPTION' });
    expect(error.message).toContain('omit one of them');
  });
});
