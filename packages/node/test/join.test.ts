import { once } from 'node:events';
import type { ProtocolModule } from '@rdmc/dataplane';
import { joinMember, type MemberOptions } from '@rdmc/member';
import { reserveLoopbackPorts } from '@rdmc/mesh';
import { describe, expect, it, onTestFinished } from 'vitest';

const source = (before = ''): string => `data:text/javascript,${before}export default()=>({onCommand(){}})`;
const IDLE: ProtocolModule[] = [{ name: 'idle', module: source() }];

/** The options of some members, which may then join or not. */
async function members(count: number, options: Partial<MemberOptions> = {}): Promise<MemberOptions[]> {
  const reserved = await reserveLoopbackPorts(count);
  onTestFinished(() => {
    for (const { server } of reserved) server.close();
  });
  const list = reserved.map(({ host, port }, id) => ({ id, host, port }));
  return reserved.map(({ server }, id) => ({ id, members: list, server, device: 'soft', ...options }));
}

const join = (options: MemberOptions, protocols = IDLE) => joinMember('join', options, protocols);

function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => expect.unreachable('it must reject'),
    (error: unknown) => error,
  );
}

describe('joining', () => {
  it('gives every member the mesh and a running data plane, and says which device and why', async () => {
    const said: object[] = [];
    const begun: string[] = [];
    const logger = {
      info: (details: object) => void said.push(details),
      debug: (_details: object, message: string) => void begun.push(message),
    };
    const joined = await Promise.all((await members(2, { logger })).map((options) => join(options)));
    expect(joined.map(({ mesh }) => [...mesh.peers.keys()])).toEqual([[1], [0]]);
    for (const { plane } of joined) expect(plane.device.kind).toBe('soft');
    for (const id of [0, 1]) {
      expect(said).toContainEqual({ id, device: 'soft', reason: expect.stringMatching(/./) });
    }
    // The worker tells the same logger.
    expect(begun.filter((message) => message === 'data plane started')).toHaveLength(2);
    await Promise.all(joined.flatMap(({ mesh, plane }) => [mesh.close(), plane.close()]));
  });

  it('starts the worker while the members gather', async () => {
    const [early, late] = await members(2);
    const name = 'loaded by the early one';
    const loaded = new BroadcastChannel(name);
    onTestFinished(() => loaded.close());
    const heard = once(loaded, 'message');
    const tells = source(`const c=new BroadcastChannel('${name}');c.postMessage(1);c.close();`);
    const first = join(early!, [{ name: 'idle', module: tells }]);
    await heard;
    const joined = await Promise.all([first, join(late!)]);
    await Promise.all(joined.flatMap(({ mesh, plane }) => [mesh.close(), plane.close()]));
  });
});

describe('what ends it', () => {
  it('devices that cannot meet, at both', async () => {
    const both = await members(2);
    const errors = await Promise.all(
      (['shm', 'tcp'] as const).map((transport, id) => {
        return rejection(join({ ...both[id]!, device: { device: 'soft', transport } }));
      }),
    );
    expect(errors).toEqual([
      expect.objectContaining({ code: 'ERR_RDMC_DEVICE_MISMATCH', memberId: 1, field: 'transport' }),
      expect.objectContaining({ code: 'ERR_RDMC_DEVICE_MISMATCH', memberId: 0, field: 'transport' }),
    ]);
  });

  it.each([
    ['an unknown option', { colour: 1 }, 'ERR_RDMC_UNKNOWN_OPTION'],
    ['a signal that is none', { signal: 1 }, 'ERR_RDMC_INVALID_OPTION'],
    ['an unknown device', { device: 'abacus' }, 'ERR_RDMC_UNKNOWN_DEVICE'],
    ['no members', { members: [] }, 'ERR_RDMC_MESH_INVALID_OPTION'],
  ])('%s', async (_, options, code) => {
    const [lonely] = await members(2, options as never);
    expect(await rejection(join(lonely!))).toMatchObject({ code });
  });

  it.each([
    ['a wrong window', { windowMs: -1 }, IDLE, { code: 'ERR_RDMC_INVALID_OPTION' }],
    [
      'a protocol that does not load',
      {},
      [{ name: 'bad', module: 'data:text/javascript,throw new Error("no")' }],
      { code: 'ERR_RDMC_DATAPLANE_START_FAILED' },
    ],
  ])('%s, without waiting for members that never come', async (_, options, protocols, error) => {
    const [lonely] = await members(2, { timeoutMs: 600_000, ...options });
    expect(await rejection(join(lonely!, protocols))).toMatchObject(error);
  });

  it('members that do not come: the mesh says who', async () => {
    const [lonely] = await members(2, { timeoutMs: 50 });
    expect(await rejection(join(lonely!))).toMatchObject({
      code: 'ERR_RDMC_MESH_TIMEOUT',
      missing: [expect.objectContaining({ id: 1 })],
    });
  });

  it.each(['before', 'while it waits'])('an abort %s', async (when) => {
    const abort = new AbortController();
    const [lonely] = await members(2, { signal: abort.signal, timeoutMs: 600_000 });
    if (when === 'before') abort.abort(new Error('enough'));
    const joining = rejection(join(lonely!));
    abort.abort(new Error('enough'));
    expect(await joining).toMatchObject({
      code: 'ERR_RDMC_MESH_ABORTED',
      cause: expect.objectContaining({ message: 'enough' }),
    });
  });
});
