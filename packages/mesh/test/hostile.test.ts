import { once } from 'node:events';
import { ownLevels } from '@rdmc/common';
import { describe, expect, it } from 'vitest';
import { PROTOCOL_VERSION } from '../src/constants.js';
import { encodeFrame, FrameType } from '../src/frames.js';
import { decodeReject, encodeHello, type Hello } from '../src/hello.js';
import type { MeshLogger, MeshOptions } from '../src/index.js';
import { membersDigest, validateMembers } from '../src/members.js';
import { assertWhole, closed, failureOf, form, hide, KEY, place, stranger, until } from './helpers.js';

const randomBytes = Buffer.from(Array.from({ length: 4096 }, (_, i) => (i * 7919 + (i >> 3)) & 0xff));

function hello(from: number, to: number, digest: Buffer): Hello {
  return {
    version: PROTOCOL_VERSION,
    from,
    to,
    digest,
    instance: Buffer.alloc(16, 9),
    maxFrameBytes: 1 << 20,
    levels: ownLevels(),
    attributes: {},
  };
}

function oversized(): Buffer {
  const bytes = Buffer.alloc(64);
  bytes.writeUInt32LE(0xffff_fff0, 0);
  return bytes;
}

const zero = Buffer.alloc(32);
const notObject = encodeHello(hello(1, 0, zero)).subarray(0, 5 + 72);
notObject.writeUInt32LE(73, 0);

describe.each([{ insecure: true }, { key: KEY }])('hostile bytes on the port, %j', (keying) => {
  it.each([
    ['garbage', randomBytes],
    ['an oversized length', oversized()],
    ['a zero length', Buffer.alloc(16)],
    ['a HELLO without attributes', notObject],
    ['a frame that is no HELLO', encodeFrame(FrameType.READY)],
    ['a LEAVE', encodeFrame(FrameType.LEAVE)],
    ['an HTTP request', Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n')],
  ])('%s: dropped, logged, and nobody is hurt', async (_name, bytes) => {
    const dropped: string[] = [];
    const logger: MeshLogger = { warn: (_details, text) => dropped.push(text) };
    const { meshes, cores, members } = await form(3, { ...keying, logger });
    const socket = await stranger(members[0]!);
    socket.write(bytes);
    await closed(socket);
    await until(() => dropped.length === 1);
    expect(dropped[0]).toContain('mesh: closed the connection from 127.0.0.1:');
    expect(cores[0]!.connector.listener.pendingCount).toBe(0);
    expect(meshes.map((mesh) => mesh.failed.size)).toEqual([0, 0, 0]);
    await assertWhole(meshes);
  });

  it('garbage while joining does not keep the members from each other', async () => {
    const where = await place(3);
    const first = where.join(0, keying);
    for (const bytes of [randomBytes, oversized(), Buffer.alloc(8)]) {
      const socket = await stranger(where.members[0]!);
      socket.write(bytes);
      await closed(socket);
    }
    const others = [where.join(1, keying), where.join(2, keying)];
    await assertWhole(await Promise.all([first, ...others].map(({ mesh }) => mesh)));
  });
});

async function dripInto(keying: Partial<MeshOptions>, bytes: Buffer): Promise<void> {
  const { meshes, cores, members } = await form(2, keying, '127.0.0.1', { pendingTickMs: 25 });
  const { listener } = cores[0]!.connector;
  const socket = await stranger(members[0]!);
  // The first bytes are due earlier.
  let sent = 3;
  socket.write(bytes.subarray(0, sent));
  const drip = setInterval(() => socket.write(bytes.subarray(sent, ++sent)), 50);
  socket.once('close', () => clearInterval(drip));
  await until(() => listener.pendingCount === 1);
  await assertWhole(meshes);
  await closed(socket);
  expect(sent).toBeGreaterThan(3);
  expect(sent).toBeLessThan(bytes.length);
  await until(() => listener.pendingCount === 0);
  await assertWhole(meshes);
}

describe('callers that do not introduce themselves', () => {
  it('a half HELLO, then the end: dropped', async () => {
    const { meshes, cores, members } = await form(2, { insecure: true });
    const socket = await stranger(members[0]!);
    socket.end(encodeHello(hello(1, 0, zero)).subarray(0, 40));
    await closed(socket);
    await until(() => cores[0]!.connector.listener.pendingCount === 0);
    await assertWhole(meshes);
  });

  it('one byte now and then: dropped when its time is over, with and without a key', async () => {
    // Both have more bytes than come in as many turns of the loop as a connection has time.
    const long = { ...hello(1, 0, zero), attributes: { text: 'x'.repeat(400) } };
    // A TLS record that promises 512 bytes of handshake, so that with a key it is TLS that waits.
    const record = Buffer.concat([Buffer.of(0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc), Buffer.alloc(500)]);
    await Promise.all([dripInto({ insecure: true }, encodeHello(long)), dripInto({ key: KEY }, record)]);
  });
});

describe('a well-formed HELLO that does not fit', () => {
  it.each([
    ['another list', hello(1, 0, zero), 'ERR_RDMC_MESH_MEMBERS_DIFFER'],
    ['another version', { ...hello(1, 0, zero), version: PROTOCOL_VERSION + 1 }, 'ERR_RDMC_MESH_VERSION'],
  ])('%s, after the mesh has formed: told so, nobody hurt', async (_name, greeting, code) => {
    const { meshes, members } = await form(2, { insecure: true });
    const socket = await stranger(members[0]!);
    socket.write(encodeHello(greeting));
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer[4]).toBe(FrameType.REJECT);
    expect(decodeReject(answer.subarray(5)).code).toBe(code);
    await closed(socket);
    await assertWhole(meshes);
  });

  it('a member that is there already, and one that dials the wrong way round', async () => {
    const { meshes, members } = await form(3, { insecure: true });
    const digest = membersDigest(validateMembers(members));
    for (const [from, to, code] of [
      [2, 1, 'ERR_RDMC_MESH_DUPLICATE_MEMBER'],
      [0, 1, 'ERR_RDMC_MESH_PROTOCOL'],
      [7, 1, 'ERR_RDMC_MESH_PROTOCOL'],
      [2, 0, 'ERR_RDMC_MESH_WRONG_MEMBER'],
    ] as const) {
      const socket = await stranger(members[1]!);
      socket.write(encodeHello(hello(from, to, digest)));
      const [answer] = (await once(socket, 'data')) as [Buffer];
      expect(decodeReject(answer.subarray(5)).code).toBe(code);
      await closed(socket);
    }
    await assertWhole(meshes);
  });

  it('an introduced peer that sends nonsense has failed, and the others learn why', async () => {
    for (const bytes of [
      oversized(),
      encodeFrame(99),
      encodeFrame(FrameType.MESSAGE, Buffer.from([0, 0])),
      encodeFrame(FrameType.MESSAGE, Buffer.from([0, 1, 0, 97]), Buffer.from('{')),
      encodeFrame(FrameType.MESSAGE, Buffer.from([2, 1, 0, 97]), Buffer.from('{}')),
      encodeFrame(FrameType.REQUEST, Buffer.from([1, 0, 0, 0, 9, 1, 0, 97])),
      encodeFrame(FrameType.FAILURE, Buffer.alloc(3)),
      encodeFrame(FrameType.REPLY, Buffer.alloc(2)),
    ]) {
      const { meshes, cores } = await form(3);
      const heard = failureOf(meshes[1]!, 2);
      cores[2]!.links.get(0)!.send(bytes);
      hide(cores[2]!);
      const failure = await heard;
      expect(failure).toMatchObject({ member: 2, reporter: 0, code: 'ERR_RDMC_MESH_PROTOCOL' });
      await assertWhole([meshes[0]!, meshes[1]!]);
    }
  });
});
