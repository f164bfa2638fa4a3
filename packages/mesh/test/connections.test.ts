/** Connections beside the mesh's own: who may open them, what they carry, how they end. */
import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { ownLevels } from '@rdmc/common';
import { describe, expect, it } from 'vitest';
import { MAX_CONNECTIONS_PER_MEMBER, PROTOCOL_VERSION } from '../src/constants.js';
import { encodeFrame, type Frame, FrameType } from '../src/frames.js';
import { decodeReject, encodeHello } from '../src/hello.js';
import type { Mesh, MeshConnection } from '../src/index.js';
import { membersDigest, validateMembers } from '../src/members.js';
import { assertWhole, closed, form, KEY, rejection, stranger, thrown, until } from './helpers.js';

const LIMIT = 1024 * 1024;

/** The next connection that a mesh takes for a purpose. */
function taken(mesh: Mesh, purpose: string): Promise<MeshConnection> {
  return new Promise((resolve) => {
    const subscription = mesh.onConnection(purpose, (connection) => {
      subscription.close();
      resolve(connection);
    });
  });
}

async function pair(meshes: readonly Mesh[], from = 0, to = 1): Promise<[MeshConnection, MeshConnection]> {
  const [opened, accepted] = await Promise.all([
    meshes[from]!.openConnection(to, 'test'),
    taken(meshes[to]!, 'test'),
  ]);
  return [opened, accepted];
}

/** The next frames of a connection, as [type, payload]. */
function frames(connection: MeshConnection, count: number, limit = LIMIT): Promise<[number, string][]> {
  return new Promise((resolve) => {
    const seen: [number, string][] = [];
    connection.receive(limit, ({ type, payload }) => {
      seen.push([type, payload.toString('latin1')]);
      if (seen.length === count) resolve(seen);
    });
  });
}

async function ended(connection: MeshConnection): Promise<unknown> {
  await connection.closed;
  return connection.signal.reason;
}

describe.each([{ insecure: true }, { key: KEY }])('a connection, %j', (keying) => {
  it('can be opened by either member, has one id at both ends, and carries frames both ways', async () => {
    const { meshes } = await form(2, keying);
    for (const [from, to] of [
      [0, 1],
      [1, 0],
    ] as const) {
      const [opened, accepted] = await pair(meshes, from, to);
      expect([opened.member, accepted.member]).toEqual([to, from]);
      expect(opened.id).toMatch(/^[0-9a-f]{32}$/);
      expect(accepted.id).toBe(opened.id);
      const large = 'x'.repeat(LIMIT - 1);
      const [there, back] = [frames(accepted, 2), frames(opened, 1)];
      opened.send(7, Buffer.from('a'), Buffer.from('b'));
      opened.send(8, Buffer.from(large));
      accepted.send(255);
      expect(await there).toEqual([
        [7, 'ab'],
        [8, large],
      ]);
      expect(await back).toEqual([[255, '']]);
    }
    await assertWhole(meshes);
  });

  it('waits for the listener of its purpose, and keeps what is sent meanwhile', async () => {
    const { meshes } = await form(2, keying);
    const opened = await meshes[1]!.openConnection(0, 'later');
    opened.send(1, Buffer.from('early'));
    meshes[1]!.send(0, 'mark', null);
    await new Promise((resolve) => meshes[0]!.onMessage('mark', resolve));
    const accepted = await taken(meshes[0]!, 'later');
    expect(await frames(accepted, 1)).toEqual([[1, 'early']]);
  });

  it('is read no further while a handler works, and fills up to its end', async () => {
    const { meshes } = await form(2, keying);
    const [opened, accepted] = await pair(meshes);
    const seen: number[] = [];
    let goOn: () => void = () => {};
    accepted.receive(LIMIT, ({ type }) => {
      seen.push(type);
      return type === 1 ? new Promise((resolve) => (goOn = resolve)) : undefined;
    });
    // Both are in one chunk, or in two.
    opened.send(1);
    opened.send(2);
    await until(() => seen.length > 0);
    // More than the system keeps between two sockets.
    for (let i = 0; i < 64; i += 1) opened.send(2, Buffer.alloc(LIMIT / 2));
    for (let i = 0; i < 50; i += 1) await turn();
    expect(seen).toEqual([1]);
    expect(opened.bufferedBytes).toBeGreaterThan(LIMIT);
    const drained = opened.drained();
    goOn();
    await drained;
    await until(() => seen.length === 66);
    expect(opened.bufferedBytes).toBe(0);
    await assertWhole(meshes);
  });
});

describe('the end of a connection', () => {
  it.each<[string, (accepted: MeshConnection) => void, string]>([
    ['a frame beyond the limit', (connection) => connection.receive(100, () => {}), 'ERR_RDMC_MESH_PROTOCOL'],
    [
      'a handler that throws',
      (connection) =>
        connection.receive(LIMIT, () => {
          throw Object.assign(new Error('no'), { code: 'ERR_RDMC_X' });
        }),
      'ERR_RDMC_X',
    ],
    [
      'a handler that rejects',
      (connection) =>
        connection.receive(LIMIT, () =>
          Promise.reject(Object.assign(new Error('no'), { code: 'ERR_RDMC_X' })),
        ),
      'ERR_RDMC_X',
    ],
    ['close()', (connection) => void connection.close(), 'ERR_RDMC_MESH_CLOSED'],
  ])('by %s is seen at both ends, and the mesh stays whole', async (_, act, code) => {
    const { meshes } = await form(2);
    const [opened, accepted] = await pair(meshes);
    opened.receive(LIMIT, () => {});
    act(accepted);
    opened.send(1, Buffer.alloc(200));
    expect(await ended(accepted)).toMatchObject({ code });
    expect(await ended(opened)).toMatchObject({ code: 'ERR_RDMC_MESH_CONNECTION_LOST', memberId: 1 });
    expect(opened.isOpen).toBe(false);
    opened.send(1);
    expect((await rejection(opened.drained())).code).toBe('ERR_RDMC_MESH_CONNECTION_LOST');
    await assertWhole(meshes);
  });

  it('comes with the loss of the member, and with the end of the mesh', async () => {
    const { meshes } = await form(3);
    const [toLost] = await pair(meshes, 0, 1);
    const [toLeaving] = await pair(meshes, 0, 2);
    meshes[0]!.reportFailure(1, 'for the test');
    expect(await ended(toLost)).toMatchObject({ code: 'ERR_RDMC_MESH_MEMBER_LOST' });
    expect((await rejection(meshes[0]!.openConnection(1, 'test'))).code).toBe('ERR_RDMC_MESH_MEMBER_LOST');
    await meshes[2]!.close();
    await ended(toLeaving);
    await meshes[0]!.close();
    expect((await rejection(meshes[0]!.openConnection(2, 'test'))).code).toBe('ERR_RDMC_MESH_CLOSED');
  });

  it('does not come while a caller waits for room, unless it is aborted', async () => {
    const { meshes } = await form(2);
    const [opened] = await pair(meshes);
    for (let i = 0; i < 64; i += 1) opened.send(2, Buffer.alloc(LIMIT / 2));
    const abort = new AbortController();
    const waiting = rejection(opened.drained(abort.signal));
    abort.abort(new Error('enough'));
    expect((await waiting).code).toBe('ERR_RDMC_ABORTED');
    expect(opened.isOpen).toBe(true);
  });
});

describe('an attempt to open a connection', () => {
  it('is refused beyond 64 from one member, and again possible when one has ended', async () => {
    const { meshes } = await form(2);
    const all = await Promise.all(
      Array.from({ length: MAX_CONNECTIONS_PER_MEMBER }, () => meshes[0]!.openConnection(1, 'many')),
    );
    const refused = await rejection(meshes[0]!.openConnection(1, 'many'));
    expect(refused.code).toBe('ERR_RDMC_MESH_TOO_MANY_CONNECTIONS');
    const accepted: MeshConnection[] = [];
    meshes[1]!.onConnection('many', (connection) => accepted.push(connection));
    await until(() => accepted.length === MAX_CONNECTIONS_PER_MEMBER);
    const free = ended(accepted[0]!);
    void accepted[0]!.close();
    await free;
    expect((await meshes[0]!.openConnection(1, 'many')).isOpen).toBe(true);
    await Promise.all(all.map((connection) => connection.close()));
    await assertWhole(meshes);
  });

  it('checks its arguments, and can be aborted', async () => {
    const { meshes } = await form(2);
    const [mesh] = meshes as [Mesh];
    for (const to of [0, 7, Number.NaN])
      expect((await rejection(mesh.openConnection(to, 'x'))).code).toBe('ERR_RDMC_MESH_INVALID_ARGUMENT');
    for (const purpose of ['', 'x'.repeat(257), 3 as unknown as string]) {
      expect((await rejection(mesh.openConnection(1, purpose))).code).toBe('ERR_RDMC_MESH_INVALID_ARGUMENT');
      expect(thrown(() => mesh.onConnection(purpose, () => {})).code).toBe('ERR_RDMC_MESH_INVALID_ARGUMENT');
    }
    const misspelt = { sginal: undefined } as object;
    expect((await rejection(mesh.openConnection(1, 'x', misspelt))).code).toBe(
      'ERR_RDMC_MESH_INVALID_OPTION',
    );
    mesh.onConnection('x', () => {});
    expect(thrown(() => mesh.onConnection('x', () => {})).code).toBe('ERR_RDMC_MESH_HANDLER_TAKEN');
    const abort = new AbortController();
    const opening = rejection(mesh.openConnection(1, 'x', { signal: abort.signal }));
    abort.abort(new Error('enough'));
    expect((await opening).code).toBe('ERR_RDMC_ABORTED');
  });

  it('by a process that is not the member is refused, whatever it says', async () => {
    const { meshes, cores, members } = await form(2, { insecure: true });
    const accepted: MeshConnection[] = [];
    meshes[0]!.onConnection('test', (connection) => accepted.push(connection));
    const hello = {
      version: PROTOCOL_VERSION,
      from: 1,
      to: 0,
      digest: membersDigest(validateMembers(members)),
      instance: Buffer.alloc(16, 9),
      maxFrameBytes: LIMIT,
      levels: ownLevels(),
      attributes: {},
      connection: { purpose: 'test', id: 'ab'.repeat(16) },
    };
    for (const [change, code] of [
      [{}, 'ERR_RDMC_MESH_MEMBER_LOST'],
      [{ from: 0 }, 'ERR_RDMC_MESH_MEMBER_LOST'],
      [{ from: 5 }, 'ERR_RDMC_MESH_MEMBER_LOST'],
      [{ digest: Buffer.alloc(32) }, 'ERR_RDMC_MESH_MEMBERS_DIFFER'],
    ] as const) {
      const socket = await stranger(members[0]!);
      socket.write(encodeHello({ ...hello, ...change }));
      const [answer] = (await once(socket, 'data')) as [Buffer];
      expect(answer[4]).toBe(FrameType.REJECT);
      expect(decodeReject(answer.subarray(5)).code).toBe(code);
      await closed(socket);
    }
    for (const connection of [
      { purpose: '', id: 'ab'.repeat(16) },
      { purpose: 'test', id: 'AB' },
      { purpose: 'x'.repeat(257), id: 'ab'.repeat(16) },
    ]) {
      const socket = await stranger(members[0]!);
      socket.write(encodeHello({ ...hello, connection }));
      await closed(socket);
    }
    await until(() => cores[0]!.connector.listener.pendingCount === 0);
    expect(accepted).toEqual([]);
    await assertWhole(meshes);
  });

  it('that was confirmed by nothing is not handed over', async () => {
    const { meshes, cores, members } = await form(2, { insecure: true });
    const accepted: MeshConnection[] = [];
    meshes[0]!.onConnection('test', (connection) => accepted.push(connection));
    const socket = await stranger(members[0]!);
    const name = { purpose: 'test', id: 'ab'.repeat(16) };
    socket.write(encodeHello(cores[1]!.connector.hello(0, name)));
    await once(socket, 'data');
    expect(accepted).toEqual([]);
    const frame: Frame = { type: FrameType.HEARTBEAT, payload: Buffer.alloc(0) };
    socket.write(encodeFrame(frame.type));
    await closed(socket);
    expect(accepted).toEqual([]);
    await assertWhole(meshes);
  });
});
