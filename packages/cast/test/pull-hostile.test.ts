import { connect, type Socket } from 'node:net';
import type { FileServer, ServeOptions } from '@rdmc/cast';
import { KeyedSockets } from '@rdmc/mesh/sockets';
import { refusal, rejection, temporaryDirectory } from '@rdmc/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CAST_PROTOCOL_VERSION, MAX_HANDSHAKES, MAX_SWARMS, MIB } from '../src/constants.js';
import { ControlChannel } from '../src/control/control-channel.js';
import {
  type FetcherFrame,
  type FetcherFrameOf,
  PULL_PURPOSE,
  pullShapes,
  type ServerFrame,
} from '../src/pull/frames.js';
import { serverKeys } from '../src/pull/roles.js';
import { startFetch, startServer } from './support/pull.js';
import { expectSameTree, seededBytes, write } from './support/tree.js';

type Frames = AsyncIterator<ServerFrame, void, undefined>;

/** What a fetcher says at its end. */
const DONE: FetcherFrameOf<'done'> = {
  type: 'done',
  ...{ files: 0, bytes: 0, keptBytes: 0, resumedBytes: 0, unchangedFiles: 0, unchangedBytes: 0 },
  ...{ problems: [], problemCount: 0, servesOn: false },
};

/** A fetcher that says what the test says. */
class FakeFetcher {
  private constructor(
    readonly channel: ControlChannel<FetcherFrame, ServerFrame>,
    readonly frames: Frames,
  ) {}

  static async call(server: FileServer, name = ''): Promise<FakeFetcher> {
    const sockets = new KeyedSockets({ key: serverKeys(undefined).secret, purpose: PULL_PURPOSE });
    const socket = await sockets.connect(server.address, { timeoutMs: 60_000 });
    onTestFinished(() => void socket.destroy());
    const channel = new ControlChannel<FetcherFrame, ServerFrame>(socket, pullShapes.server, 'the server');
    const ask = {
      type: 'ask',
      version: CAST_PROTOCOL_VERSION,
      software: 'a test',
      hostName: 'fake',
      name,
    } as const;
    channel.send(ask);
    return new FakeFetcher(channel, channel[Symbol.asyncIterator]());
  }

  /** The next frame of a type. */
  async until<T extends ServerFrame['type']>(type: T): Promise<Extract<ServerFrame, { type: T }>> {
    for (;;) {
      const { value, done } = await this.frames.next();
      if (done) throw new Error(`the server closed the connection before '${type}'`);
      if (value.type === type) return value as Extract<ServerFrame, { type: T }>;
    }
  }
}

async function serverOf(bytes: number, options: Partial<ServeOptions> = {}) {
  const from = temporaryDirectory();
  write(from, 'file', seededBytes(bytes, 1));
  return { from, ...(await startServer(from, options)) };
}

describe('a fetcher that lies about what it has', () => {
  const lies: readonly (readonly [what: string, lie: FetcherFrame])[] = [
    ['pieces that do not exist', { type: 'have', first: 0, data: '////', last: true }],
    ['bits after the last piece', { type: 'have', first: 0, data: 'CA==', last: true }],
    ['a run that it is not in', { type: 'took', run: 1, messages: 1, broken: [] }],
    ['the end before there is one', DONE],
    [
      'more stored than received',
      {
        type: 'progress',
        receivedMessages: 0,
        partialBytes: 0,
        storedMessages: 1,
        storedBytes: 0,
        writerBusyMs: 0,
      },
    ],
  ];

  it('is dropped, and others are served', async () => {
    const { from, server, several } = await serverOf(2 * MIB);
    for (const [what, lie] of lies) {
      const fake = await FakeFetcher.call(server);
      await fake.until('hashes');
      fake.channel.send(lie);
      expect(await fake.until('abort'), what).toMatchObject({ code: 'ERR_RDMC_CAST_PROTOCOL' });
    }
    const failed = await several('failed', lies.length);
    expect(failed.map(({ code }) => code)).toEqual(lies.map(() => 'ERR_RDMC_CAST_PROTOCOL'));
    const { fetch, directory } = startFetch(server);
    await fetch.finished;
    expectSameTree(directory, from);
  });

  it('that it has everything gets nothing, and is believed', async () => {
    const { server, several } = await serverOf(2 * MIB);
    const fake = await FakeFetcher.call(server);
    await fake.until('hashes');
    fake.channel.send({ type: 'have', first: 0, data: 'Aw==', last: true });
    await fake.until('finish');
    fake.channel.send(DONE);
    expect(await several('complete', 1)).toMatchObject([{ storedBytes: 0 }]);
  });
});

it('a fetcher that says it serves on, and sends nothing, does not keep pieces from others', async () => {
  const { from, server, events } = await serverOf(2 * MIB);
  const fake = await FakeFetcher.call(server);
  await fake.until('hashes');
  fake.channel.send({ type: 'have', first: 0, data: 'Aw==', last: true });
  await fake.until('finish');
  fake.channel.send({ ...DONE, servesOn: true });
  await fake.until('mesh');
  fake.channel.send({ type: 'joined' });
  const { fetch, directory } = startFetch(server);
  const { run, members } = await fake.until('lead');
  expect(members).toHaveLength(2);
  fake.channel.send({ type: 'led', run, isWhole: false });
  await fetch.finished;
  expectSameTree(directory, from);
  expect(await fake.until('abort')).toMatchObject({ code: 'ERR_RDMC_RECEIVER_LOST' });
  const sent = events.filter((event) => event.type === 'sent');
  expect(sent.map(({ pieces, leader }) => [pieces, leader !== undefined])).toEqual([
    [0, true],
    [2, false],
  ]);
});

describe('names', () => {
  it('that lead out of the directory, or do not exist, are refused, whatever the fetcher checks', async () => {
    const { server } = await serverOf(1);
    for (const name of ['../secret', 'a/../../secret', '/etc/passwd', '.', 'file/']) {
      const fake = await FakeFetcher.call(server, name);
      expect(await fake.until('abort'), name).toMatchObject({ code: 'ERR_RDMC_UNSAFE_PATH' });
    }
    const fake = await FakeFetcher.call(server, 'none');
    expect(await fake.until('abort')).toMatchObject({ code: 'ERR_RDMC_NOT_FOUND' });
  });
});

it('a fetcher that says nothing more is dropped', async () => {
  const { server } = await serverOf(1_000, { stallTimeoutMs: 1_000 });
  const fake = await FakeFetcher.call(server);
  expect(await fake.until('abort')).toMatchObject({ code: 'ERR_RDMC_RECEIVER_STALLED' });
});

it('a server that serves its maximum of names refuses others, and takes more fetchers of these', async () => {
  const from = temporaryDirectory();
  for (let number = 0; number <= MAX_SWARMS; number += 1) write(from, `f${number}`, 'contents');
  const { server } = await startServer(from, { stallTimeoutMs: 600_000 });
  const fakes: FakeFetcher[] = [];
  for (let number = 0; number < MAX_SWARMS; number += 1)
    fakes.push(await FakeFetcher.call(server, `f${number}`));
  await Promise.all(fakes.map((fake) => fake.until('offer')));
  const refused = startFetch(server, { name: `f${MAX_SWARMS}` });
  expect(await rejection(refused.fetch.finished)).toEqual(refusal('ERR_RDMC_BUSY'));
  const waiting = startFetch(server, { name: `f${MAX_SWARMS}`, waitMs: 600_000 });
  expect(await startFetch(server, { name: 'f0' }).fetch.finished).toMatchObject({ files: 1 });
  for (const fake of fakes) fake.channel.destroy();
  expect(await waiting.fetch.finished).toMatchObject({ files: 1 });
});

it('strangers that say nothing do not keep fetchers out', async () => {
  const { from, server } = await serverOf(1_000);
  const strangers: Socket[] = [];
  for (let number = 0; number < 2 * MAX_HANDSHAKES; number += 1) {
    const stranger = connect(server.address);
    stranger.on('error', () => {});
    strangers.push(stranger);
  }
  onTestFinished(() => {
    for (const stranger of strangers) stranger.destroy();
  });
  const { fetch, directory } = startFetch(server);
  await fetch.finished;
  expectSameTree(directory, from);
});
