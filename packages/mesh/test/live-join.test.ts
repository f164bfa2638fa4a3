import { describe, expect, it } from 'vitest';
import { TICKS_PER_HEARTBEAT } from '../src/constants.js';
import { FrameType, LENGTH_BYTES } from '../src/frames.js';
import { reserveLoopbackPorts } from '../src/loopback.js';
import { assertWhole, KEY, leaveOf, messages, rejection, thrown, until } from './helpers.js';
import { assertOrdered, converged, enter, event, grow, joining } from './live-helpers.js';

describe('a mesh whose members come and go', () => {
  it.each([undefined, KEY])('forms through any live member, key %s', async (key) => {
    const options = key === undefined ? {} : { key };
    const first = await enter(0, [], options);
    const second = await enter(7, [first], options);
    const third = await enter(3, [second], options);
    const all = [first, second, third];
    await converged(all);
    await assertWhole(all.map(({ mesh }) => mesh));
    expect(third.mesh.members.map(({ id }) => id)).toEqual([0, 3, 7]);
    expect(all.map(({ mesh }) => mesh.incarnation)).toEqual([1, 1, 1]);
    expect(third.mesh.peers.get(7)).toMatchObject({ id: 7, incarnation: 1, state: 'connected' });
    for (const each of all) assertOrdered(each);
  });

  it('tells attributes, requests and further connections as one with a list does', async () => {
    const a = await enter(0, [], { attributes: { role: 'first' } });
    const c = await enter(1, [a], { attributes: { role: 'second' } });
    await converged([a, c]);
    expect(a.mesh.peers.get(1)!.attributes).toEqual({ role: 'second' });
    expect(c.mesh.peers.get(0)!.attributes).toEqual({ role: 'first' });
    a.mesh.onRequest('square', (_from, x) => (x as number) ** 2);
    expect(await c.mesh.request(0, 'square', 7)).toBe(49);
    const accepted = new Promise<number>((resolve) => {
      a.mesh.onConnection('bulk', ({ member }) => resolve(member));
    });
    await c.mesh.openConnection(0, 'bulk');
    expect(await accepted).toBe(1);
  });

  it('the first heartbeat on a new connection is delayed', async () => {
    // No tick comes while the test lasts.
    const slow = { heartbeatMs: 100_000, silenceTimeoutMs: 300_000 };
    const a = await enter(0, [], slow);
    const b = await enter(1, [a], slow);
    await converged([a, b]);
    expect(a.core.links.get(1)!.heartbeatTicks).toBe(-TICKS_PER_HEARTBEAT);
    expect(b.core.links.get(0)!.heartbeatTicks).toBe(-TICKS_PER_HEARTBEAT);
  });

  it('members that join at once all meet', async () => {
    const first = await enter(5, []);
    const others = await Promise.all([1, 9, 3, 7, 2, 8].map((id) => enter(id, [first])));
    const all = [first, ...others];
    await converged(all);
    await assertWhole(all.map(({ mesh }) => mesh));
    for (const each of all) assertOrdered(each);
  });

  it('members that join at once through different members all meet', async () => {
    const [a, b, c] = await grow(3);
    const through = [a!, b!, c!];
    const others = await Promise.all([4, 13, 5, 12, 6, 11].map((id, i) => enter(id, [through[i % 3]!])));
    const all = [...through, ...others];
    await converged(all);
    await assertWhole(all.map(({ mesh }) => mesh));
  });

  it('a member that leaves is forgotten, and comes back with a higher incarnation', async () => {
    const [a, b, c] = await grow(3);
    const left = [leaveOf(a!.mesh, 2), leaveOf(b!.mesh, 2)];
    await c!.mesh.close();
    await Promise.all(left);
    expect(a!.mesh.members.map(({ id }) => id)).toEqual([0, 1]);
    expect(a!.mesh.peers.has(2)).toBe(false);
    expect(thrown(() => a!.mesh.send(2, 'x', 1)).code).toBe('ERR_RDMC_MESH_MEMBER_LEFT');
    const back = await enter(2, [b!]);
    expect(back.mesh.incarnation).toBe(2);
    await converged([a!, b!, back]);
    expect(a!.events.filter(({ member }) => member === 2)).toEqual([
      { type: 'joined', member: 2, incarnation: 1, epoch: 1 },
      { type: 'left', member: 2, incarnation: 1, epoch: 1 },
      { type: 'joined', member: 2, incarnation: 2, epoch: 1 },
    ]);
    const heard = messages(back.mesh, 'again', 1);
    a!.mesh.send(2, 'again', 'hello');
    expect(await heard).toEqual([[0, 'hello']]);
  });

  it('waits for a contact that starts later, and gives up with the reason', async () => {
    // No other process is given this port while nobody listens there.
    const [reserved] = await reserveLoopbackPorts(1);
    const { port, server } = reserved!;
    await new Promise((resolve) => server.close(resolve));
    const address = `127.0.0.1:${port}`;
    const late = joining(1, [address]);
    const again = await enter(0, [], { listen: { host: '127.0.0.1', port } });
    await late.mesh;
    await until(() => again.core.links.size === 1);
    await again.mesh.close();
    const error = await rejection(joining(2, [address], { timeoutMs: 50 }).mesh);
    expect(error.code).toBe('ERR_RDMC_MESH_TIMEOUT');
    expect(error.message).toContain(address);
  });

  it('a lost member is reached again as a new epoch; what was sent before is not delivered', async () => {
    const [a, b] = await grow(2);
    // No subscriber: the message waits at b.
    a!.mesh.send(1, 'old', 'posted before the loss');
    a!.mesh.send(1, 'mark', 0);
    await messages(b!.mesh, 'mark', 1);
    b!.mesh.reportFailure(0, 'its queue pair broke');
    await event(a!, 'lost', 1);
    await until(() => b!.events.some(({ type, epoch }) => type === 'joined' && epoch > 1));
    await converged([a!, b!]);
    const heard = messages(b!.mesh, 'old', 1);
    a!.mesh.send(1, 'old', 'posted after it');
    expect(await heard).toEqual([[0, 'posted after it']]);
    assertOrdered(a!);
    assertOrdered(b!);
  });

  it('an answer to a request of an earlier connection is not sent on the next one', async () => {
    const [a, b] = await grow(2);
    const answers: ((value: string) => void)[] = [];
    b!.mesh.onRequest('slow', () => new Promise((resolve) => answers.push(resolve)));
    const first = rejection(a!.mesh.request(1, 'slow', null));
    await until(() => answers.length === 1);
    const link = a!.core.links.get(1);
    b!.mesh.reportFailure(0, 'its queue pair broke');
    expect((await first).code).toBe('ERR_RDMC_MESH_MEMBER_LOST');
    await until(() => a!.core.links.has(1) && a!.core.links.get(1) !== link);
    await converged([a!, b!]);
    b!.mesh.onRequest('ping', () => null);
    const sent: number[] = [];
    const back = b!.core.links.get(0)!;
    const { send } = back;
    back.send = (frame) => {
      sent.push(frame[LENGTH_BYTES]!);
      send.call(back, frame);
    };
    answers[0]!('too late');
    await a!.mesh.request(1, 'ping', null);
    expect(sent.filter((type) => type === FrameType.REPLY).length).toBe(1);
  });
});
