import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type CastTarget, castFile } from '@rdmc/cast';
import { temporaryDirectory } from '@rdmc/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { CAST_PROTOCOL_VERSION, MAX_HANDSHAKES } from '../src/constants.js';
import { ControlChannel } from '../src/control/control-channel.js';
import {
  type Invitation,
  type OfferFrame,
  type ReceiverFrame,
  type SenderFrame,
  shapes,
} from '../src/control/frames.js';
import type { ManifestEntry } from '../src/manifest/manifest-entry.js';
import { packStates } from '../src/manifest/packed-states.js';
import { PieceEncoder } from '../src/manifest/piece-encoder.js';
import type { Dialling } from '../src/sender/dial.js';
import type { Pump } from '../src/sender/pump.js';
import { ReceiverLink } from '../src/sender/receiver-link.js';
import { fakeReceiver, goAlong, hello, ownSockets, rawFrame } from './support/fake-receiver.js';
import { policy } from './support/policy.js';
import { outcome, startReceivers, temporaries } from './support/receivers.js';
import { expectSameTree, seededBytes, write } from './support/tree.js';

const cleanUp: (() => void)[] = [];
afterEach(() => {
  for (const each of cleanUp.splice(0)) each();
});

async function fake(...parameters: Parameters<typeof fakeReceiver>) {
  const receiver = await fakeReceiver(...parameters);
  cleanUp.push(receiver.close);
  return receiver.to;
}

const source = (): string => write(temporaryDirectory(), 'file', seededBytes(100_000, 1));

async function codeOf(cast: ReturnType<typeof castFile>): Promise<string> {
  return cast.finished.then(
    () => 'complete',
    (error: { code: string }) => error.code,
  );
}

const invitation: Invitation = {
  type: 'invite',
  castId: '00000000-0000-4000-8000-000000000000',
  senderName: 'fake',
  ...{ files: 1, directories: 0, links: 0, bytes: 1, contentBytes: 1 },
  ...{ connectTimeoutMs: 60_000, stallTimeoutMs: 60_000, trafficClass: 0, serviceLevel: 0 },
  ...{ checksum: 'gmac', checksumKey: '00'.repeat(32), encrypted: false },
};
const group = { id: 1, stream: 0, members: [0, 1], algorithm: 'chain', blockBytes: 'auto' as const };

const compared: Invitation = { ...invitation, comparison: policy };

function entry(path: string): ManifestEntry {
  const facts = { mode: 0o644, time: { seconds: 1, nanoseconds: 0 }, size: 1, targetIndex: 0 };
  return { kind: 'file', path: Buffer.from(path), ...facts, target: Buffer.alloc(0), digest: undefined };
}

function offer(entries: readonly ManifestEntry[], first = 0): OfferFrame {
  const encoder = new PieceEncoder(first);
  for (const each of entries) encoder.add(each);
  return { type: 'offer', ...encoder.finish() };
}

function progress(receivedMessages: number, storedMessages: number): ReceiverFrame {
  return { type: 'progress', receivedMessages, partialBytes: 0, storedMessages, writerBusyMs: 0 };
}

/** One cast to an honest receiver and to these liars, by what they do: they are dropped, and the receiver gets everything. */
async function expectDropped(liars: Readonly<Record<string, CastTarget>>): Promise<void> {
  const from = temporaryDirectory();
  write(from, 'root/file', seededBytes(100_000, 1));
  const [receiver] = await startReceivers(1);
  const to = [receiver!.to, ...Object.values(liars)];
  const { receivers } = await castFile(`${from}/root`, { to }).finished;
  const ends = receivers.map(({ state, code }) => code ?? state);
  const [honest, ...others] = ends;
  expect(honest).toBe('complete');
  const names = Object.keys(liars);
  expect(others.map((code, index) => [names[index], code])).toEqual(
    names.map((name) => [name, 'ERR_RDMC_CAST_PROTOCOL']),
  );
  expectSameTree(receiver!.directory, from);
}

describe('a receiver that does not keep to the protocol', () => {
  it.each<[string, Buffer | string]>([
    ['noise', Buffer.from('GET / HTTP/1.1\r\n\r\n')],
    ['a frame that is too long', Buffer.from([0xff, 0xff, 0xff, 0x7f, 1])],
    ['no JSON', rawFrame('{')],
    ['JSON of another kind', rawFrame('[]')],
    ['an unknown frame', rawFrame('{"type":"surprise"}')],
    ['a frame with more in it', rawFrame(JSON.stringify({ ...hello, more: 1 }))],
    ['an unexpected frame', rawFrame('{"type":"ready","meshPort":1,"freeBytes":1}')],
    ['a refusal with a strange code', rawFrame('{"type":"refused","code":"no code","message":""}')],
  ])('%s: is named', async (_name, bytes) => {
    const to = await fake(async (_channel, socket) => void socket.write(bytes));
    expect(await codeOf(castFile(source(), { to: [to] }))).toBe('ERR_RDMC_CAST_PROTOCOL');
  });

  it('disconnects while joining: the cast starts again without it', async () => {
    const to = await fake(async (channel) => {
      await goAlong(channel);
      channel.destroy();
    });
    const from = temporaryDirectory();
    write(from, 'root/file', seededBytes(100_000, 1));
    const receivers = await startReceivers(2);
    const targets = [receivers[0]!.to, to, receivers[1]!.to];
    const { receivers: summaries } = await castFile(`${from}/root`, { to: targets }).finished;
    expect(summaries.map(({ state }) => state)).toEqual(['complete', 'failed', 'complete']);
    expect(summaries[1]).toMatchObject({ code: 'ERR_RDMC_RECEIVER_LOST' });
    for (const { directory } of receivers) expectSameTree(directory, from);
  });

  it('says that it will join and does not: is named after the time-out, and the others get everything', async () => {
    const to = await fake(async (channel) => {
      const frames = await goAlong(channel);
      const beat = setInterval(
        () =>
          channel.send({
            ...{ type: 'progress', receivedMessages: 0, partialBytes: 0, storedMessages: 0, writerBusyMs: 0 },
          } as ReceiverFrame),
        100,
      );
      cleanUp.push(() => clearInterval(beat));
      await frames.next();
    });
    const from = temporaryDirectory();
    write(from, 'root/file', seededBytes(100_000, 1));
    const [receiver] = await startReceivers(1);
    // The receiver joins within that time, however busy the machine.
    const options = { to: [receiver!.to, to], connectTimeoutMs: 20_000 };
    const { receivers } = await castFile(`${from}/root`, options).finished;
    expect(receivers.map(({ state }) => state)).toEqual(['complete', 'failed']);
    expectSameTree(receiver!.directory, from);
  });

  it('says that it has more than was sent: is dropped, and the others get everything', async () => {
    const liar = await fake(async (channel) => {
      const frames = await goAlong(channel);
      channel.send(progress(7, 0));
      await frames.next();
    });
    await expectDropped({ 'has more than was sent': liar });
  });

  it.each<[string, ReceiverFrame[]]>([
    ['received less than before', [progress(5, 2), progress(4, 2)]],
    ['stored less than before', [progress(5, 2), progress(6, 1)]],
    ['stored more than it has', [progress(5, 6)]],
    ['less when it parts than before', [progress(5, 2), { type: 'parted', groupId: 1, receivedMessages: 4 }]],
    ['more when it parts than was sent', [{ type: 'parted', groupId: 1, receivedMessages: 11 }]],
  ])('says that it has %s: is dropped', async (_name, said) => {
    const to = await fake(async (channel) => {
      const frames = channel[Symbol.asyncIterator]();
      await frames.next();
      channel.send(hello);
      await frames.next();
      channel.send({ type: 'ready', meshPort: 1, freeBytes: 1e12 });
      for (const frame of said) channel.send(frame);
      // It disconnects: a sender that accepts the report fails with that instead.
      await channel.end();
    });
    const link = new ReceiverLink({ ...to, name: 'the liar' } as ConstructorParameters<
      typeof ReceiverLink
    >[0]);
    link.pumps.push({ madeMessages: 10 } as Pump);
    const { signal } = new AbortController();
    const dialling: Dialling = { sockets: ownSockets(), address: to.host, timeoutMs: 60_000, signal };
    await link.open(dialling);
    await link.invite(invitation, dialling);
    await link.down;
    expect(link.failure).toMatchObject({ code: 'ERR_RDMC_CAST_PROTOCOL', receiver: 'the liar' });
  });

  it('answers wrongly when it is asked what it has: is dropped, and the others get everything', async () => {
    const answers: Record<string, (first: number, count: number) => ReceiverFrame> = {
      'for another piece': (first, count) => {
        return { type: 'compared', first: first + 1, states: packStates(new Uint8Array(count)) };
      },
      'for more entries': (first, count) => {
        return { type: 'compared', first, states: packStates(new Uint8Array(count + 1)) };
      },
      'for fewer entries': (first, count) => {
        return { type: 'compared', first, states: packStates(new Uint8Array(count - 1)) };
      },
      'with an unknown state': (first, count) => {
        return { type: 'compared', first, states: packStates(new Uint8Array(count).fill(9)) };
      },
      'with noise': (first) => ({ type: 'compared', first, states: 'AAAA' }),
      'with a surplus that nobody asked for': () => {
        return { type: 'surplus', count: 1, paths: ['a'], last: true };
      },
    };
    const liars: Record<string, CastTarget> = {};
    for (const [name, answer] of Object.entries(answers)) {
      liars[name] = await fake(async (channel) => {
        const frames = channel[Symbol.asyncIterator]();
        await frames.next();
        channel.send({ ...hello, instance: randomUUID() } as ReceiverFrame);
        await frames.next();
        channel.send({ type: 'ready', meshPort: 1, freeBytes: 1e12 });
        const { value: frame } = await frames.next();
        if (frame?.type === 'offer') channel.send(answer(frame.first, frame.count));
        await frames.next();
      });
    }
    await expectDropped(liars);
  });

  it('reports that it is done before it was asked: the cast fails', async () => {
    const to = await fake(async (channel) => {
      await goAlong(channel);
      const done = { files: 1, directories: 0, links: 0, bytes: 100_000, problems: [], problemCount: 0 };
      channel.send({ type: 'done', ...done, keptBytes: 0, unchangedFiles: 0, unchangedBytes: 0, removed: 0 });
    });
    expect(await codeOf(castFile(source(), { to: [to] }))).toBe('ERR_RDMC_CAST_PROTOCOL');
  });
});

/** Calls a receiver as a sender does. */
async function call(to: { host: string; port: number }) {
  const socket = await ownSockets().connect(to);
  cleanUp.push(() => socket.destroy());
  const channel = new ControlChannel<SenderFrame, ReceiverFrame>(socket, shapes.receiver, 'the receiver');
  return { socket, channel, frames: channel[Symbol.asyncIterator]() };
}

/** The last frame of the receiver. */
async function lastWord(frames: AsyncIterable<ReceiverFrame>): Promise<ReceiverFrame | undefined> {
  let last: ReceiverFrame | undefined;
  for await (const frame of frames) last = frame;
  return last;
}

describe('a sender that does not keep to the protocol', () => {
  it.each<[string, Buffer]>([
    ['noise', Buffer.from('\0\0\0\0 this is no frame')],
    ['a frame that is too long', Buffer.from([0xff, 0xff, 0xff, 0x7f, 1])],
    ['an unknown frame', rawFrame('{"type":"surprise"}')],
    ['an invitation without a call', rawFrame(JSON.stringify(invitation))],
  ])('%s: is refused, and the receiver still listens', async (_name, bytes) => {
    const [receiver] = await startReceivers(1);
    const { socket, channel } = await call(receiver!.to);
    socket.write(bytes);
    expect(await lastWord(channel)).toMatchObject({ type: 'refused', code: 'ERR_RDMC_CAST_PROTOCOL' });
    await castFile(source(), { to: [receiver!.to], dryRun: true }).finished;
  });

  it('another version: is refused, and both are named', async () => {
    const [receiver] = await startReceivers(1);
    const { socket, channel } = await call(receiver!.to);
    socket.write(rawFrame('{"type":"call"}', 9));
    const refusal = await lastWord(channel);
    expect(refusal).toMatchObject({ type: 'refused', code: 'ERR_RDMC_VERSION_MISMATCH' });
    expect((refusal as { message: string }).message).toMatch(/version 9 .* version 3;/);
  });

  it.each<[string, object]>([
    ['an id that is a path', { castId: '../../../../tmp/elsewhere' }],
    ['a comparison of another kind', { comparison: { by: 'name' } }],
    ['a negative count', { files: -1 }],
    ['a size beyond the safe integers', { bytes: 2 ** 60 }],
  ])('an invitation with %s: is refused', async (_name, wrong) => {
    const [receiver] = await startReceivers(1);
    const { socket, channel } = await call(receiver!.to);
    socket.write(rawFrame('{"type":"call","version":3,"software":"test"}'));
    socket.write(rawFrame(JSON.stringify({ ...invitation, ...wrong })));
    expect(await lastWord(channel)).toMatchObject({ type: 'refused', code: 'ERR_RDMC_CAST_PROTOCOL' });
    expect(temporaries(receiver!.directory)).toEqual([]);
  });

  it.each<[string, SenderFrame]>([
    ['a second invitation', invitation],
    ['a group before its members', { type: 'group', group, nextMessage: 0 }],
    [
      'a secret in a cast without encryption',
      { type: 'group', group: { ...group, secret: '00'.repeat(32) }, nextMessage: 0 },
    ],
    [
      'a hash in a cast without SHA-256',
      { type: 'outline', groupId: 1, message: 0, sha256: '00'.repeat(32) },
    ],
    ['an end before everything has come', { type: 'finish', messages: 0, files: 0, bytes: 0, remove: false }],
  ])('%s: ends the cast, and nothing is left', async (_name, frame) => {
    const [receiver] = await startReceivers(1);
    const { channel } = await call(receiver!.to);
    const end = outcome(receiver!.receiver);
    channel.send({ type: 'call', version: 3, software: 'test' });
    channel.send(invitation);
    channel.send(frame);
    expect(await lastWord(channel)).toMatchObject({ type: 'failed', code: 'ERR_RDMC_CAST_PROTOCOL' });
    expect(await end).toMatchObject({
      type: 'failed',
      code: 'ERR_RDMC_CAST_PROTOCOL',
      castId: invitation.castId,
    });
    await receiver!.receiver.close();
    expect(temporaries(receiver!.directory)).toEqual([]);
  });

  const dryRun: Invitation = { ...invitation, comparison: { ...policy, remove: false, dryRun: true } };
  const malformed = {
    ...dryRun,
    comparison: { ...dryRun.comparison!, rules: [{ action: 'exclude', pattern: 'a[' }] },
  } as const;

  it.each<[string, SenderFrame[]]>([
    ['a second invitation', [dryRun, dryRun]],
    ['a malformed pattern', [malformed]],
  ])('%s: a dry run is reported as one where it fails', async (_name, frames) => {
    const [receiver] = await startReceivers(1);
    const { channel } = await call(receiver!.to);
    const end = outcome(receiver!.receiver);
    channel.send({ type: 'call', version: CAST_PROTOCOL_VERSION, software: 'test' });
    for (const frame of frames) channel.send(frame);
    expect(await end).toMatchObject({ type: 'failed', castId: dryRun.castId, dryRun: true });
  });

  it.each<[string, SenderFrame[], string]>([
    ['that it did not announce', [offer([entry('a')])], 'ERR_RDMC_CAST_PROTOCOL'],
    ['with a gap', [compared, offer([entry('a')], 1)], 'ERR_RDMC_CAST_PROTOCOL'],
    ['that is not compressed', [compared, { ...offer([]), data: 'AAAA' }], 'ERR_RDMC_CAST_PROTOCOL'],
    ['that is cut', [compared, { ...offer([entry('a')]), count: 2 }], 'ERR_RDMC_CAST_PROTOCOL'],
    [
      'with more entries than it says',
      [compared, { ...offer([entry('a')]), count: 0 }],
      'ERR_RDMC_CAST_PROTOCOL',
    ],
    ['whose entries come twice', [compared, offer([entry('a'), entry('a')])], 'ERR_RDMC_CAST_PROTOCOL'],
    ['that leads out', [compared, offer([entry('a/../../b')])], 'ERR_RDMC_UNSAFE_PATH'],
    ['with an absolute path', [compared, offer([entry('/etc/passwd')])], 'ERR_RDMC_UNSAFE_PATH'],
    [
      'whose hard link leads out',
      [compared, offer([entry('a'), { ...entry('b'), kind: 'hardLink', target: Buffer.from('../a') }])],
      'ERR_RDMC_UNSAFE_PATH',
    ],
  ])('a manifest %s: ends the cast, and nothing is left', async (_name, frames, code) => {
    const [receiver] = await startReceivers(1);
    const { channel } = await call(receiver!.to);
    channel.send({ type: 'call', version: CAST_PROTOCOL_VERSION, software: 'test' });
    const [first, ...others] = frames;
    channel.send(first!.type === 'invite' ? first! : invitation);
    for (const frame of first!.type === 'invite' ? others : frames) channel.send(frame);
    expect(await lastWord(channel)).toMatchObject({ type: 'failed', code });
    await receiver!.receiver.close();
    expect(temporaries(receiver!.directory)).toEqual([]);
  });

  it('a malformed pattern in the invitation: is refused', async () => {
    const [receiver] = await startReceivers(1);
    const { channel } = await call(receiver!.to);
    channel.send({ type: 'call', version: CAST_PROTOCOL_VERSION, software: 'test' });
    const rules = [{ action: 'exclude', pattern: 'a[' }] as const;
    channel.send({ ...compared, comparison: { ...compared.comparison!, rules } });
    expect(await lastWord(channel)).toMatchObject({ type: 'refused', code: 'ERR_RDMC_INVALID_PATTERN' });
    await receiver!.receiver.close();
    expect(temporaries(receiver!.directory)).toEqual([]);
  });

  it('the same cast twice at a time: the second is refused, the first continues', async () => {
    const [receiver] = await startReceivers(1);
    const first = await call(receiver!.to);
    first.channel.send({ type: 'call', version: 3, software: 'test' });
    first.channel.send(invitation);
    await first.frames.next();
    expect((await first.frames.next()).value).toMatchObject({ type: 'ready' });
    const second = await call(receiver!.to);
    second.channel.send({ type: 'call', version: 3, software: 'test' });
    second.channel.send(invitation);
    expect(await lastWord(second.channel)).toMatchObject({ type: 'refused' });
    expect((await first.frames.next()).value).toMatchObject({ type: 'progress' });
    expect(temporaries(receiver!.directory)).toHaveLength(1);
  });

  it('silence after the invitation: the receiver gives the cast up', async () => {
    const [receiver] = await startReceivers(1);
    const { channel } = await call(receiver!.to);
    const end = outcome(receiver!.receiver);
    channel.send({ type: 'call', version: 3, software: 'test' });
    channel.send({ ...invitation, connectTimeoutMs: 1_000, stallTimeoutMs: 2_000 });
    expect(await end).toMatchObject({ type: 'failed', code: 'ERR_RDMC_SENDER_LOST' });
  });

  it.each([undefined, 'a key of more than sixteen bytes'])(
    '70 silent connections do not keep a sender out, key %s',
    async (key) => {
      const [receiver] = await startReceivers(1, { key, host: '127.0.0.1' });
      const silent: Socket[] = [];
      for (let number = 0; number < 70; number += 1) {
        const socket = connect(receiver!.to).on('error', () => {});
        cleanUp.push(() => socket.destroy());
        await once(socket, 'connect');
        silent.push(socket);
      }
      await castFile(source(), { to: [receiver!.to], key, dryRun: true }).finished;
    },
  );

  it('callers that prove the key and send no invitation: further ones are refused as busy', async () => {
    const [receiver] = await startReceivers(1);
    // At once: their time is limited.
    const callers = await Promise.all(Array.from({ length: MAX_HANDSHAKES }, () => call(receiver!.to)));
    const last = await call(receiver!.to);
    callers.push(last);
    last.channel.send({ type: 'call', version: 1, software: 'test' });
    last.channel.send(invitation);
    expect(await lastWord(last.channel)).toMatchObject({ type: 'refused', code: 'ERR_RDMC_BUSY' });
    for (const { socket } of callers) socket.destroy();
    await castFile(source(), { to: [receiver!.to] }).finished;
  });
});
