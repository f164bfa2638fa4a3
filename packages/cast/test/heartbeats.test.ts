import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { castFile } from '@rdmc/cast';
import { Deferred } from '@rdmc/common';
import { temporaryDirectory, until } from '@rdmc/testing';
import { expect, it, onTestFinished, vi } from 'vitest';
import { HEARTBEAT_MS, MIN_STALL_TIMEOUT_MS } from '../src/constants.js';
import type { ControlChannel } from '../src/control/control-channel.js';
import type { DoneFrame, Invitation, ReceiverFrame, SenderFrame } from '../src/control/frames.js';
import { EntryState } from '../src/manifest/entry-states.js';
import { packStates } from '../src/manifest/packed-states.js';
import type { CheckedReceiveOptions } from '../src/receive-options.js';
import { type CastThreads, Reception } from '../src/receiver/reception.js';
import { fakeReceiver, goAlong, hello } from './support/fake-receiver.js';
import { policy } from './support/policy.js';

type Channel = ControlChannel<ReceiverFrame, SenderFrame>;
type Frames = AsyncIterator<SenderFrame, void, undefined>;

/** Longer than the test may take: only the sender's heartbeats can let a test go on. */
const LONG_MS = 600_000;
const done: DoneFrame = {
  type: 'done',
  ...{ files: 0, directories: 0, links: 0, bytes: 0, keptBytes: 0, unchangedFiles: 1, unchangedBytes: 1 },
  ...{ removed: 0, problems: [], problemCount: 0 },
};

async function fake(speak: (channel: Channel) => Promise<void>) {
  const receiver = await fakeReceiver(speak);
  onTestFinished(receiver.close);
  return receiver.to;
}

function source(): string {
  const path = join(temporaryDirectory(), 'file');
  writeFileSync(path, 'x');
  return path;
}

async function frameOf(frames: Frames, type: SenderFrame['type']): Promise<void> {
  for (;;) {
    const { value, done: isEnd } = await frames.next();
    if (isEnd) throw new Error(`the sender ended the connection before '${type}'`);
    if (value.type === type) return;
  }
}

/** Answers as a receiver that has the file already, until the sender asks it to finish. */
async function upToFinish(channel: Channel, frames: Frames): Promise<void> {
  await frameOf(frames, 'offer');
  const states = packStates(new Uint8Array(1).fill(EntryState.HAS));
  channel.send({ type: 'compared', first: 0, states });
  await frameOf(frames, 'offered');
  channel.send({ type: 'surplus', count: 0, paths: [], last: true });
  await frameOf(frames, 'finish');
}

async function greet(channel: Channel): Promise<Frames> {
  const frames = channel[Symbol.asyncIterator]();
  await frameOf(frames, 'call');
  channel.send({ ...hello, instance: randomUUID() } as ReceiverFrame);
  return frames;
}

async function getReady(channel: Channel): Promise<Frames> {
  const frames = await greet(channel);
  await frameOf(frames, 'invite');
  channel.send({ type: 'ready', meshPort: 1, freeBytes: 1e12 });
  return frames;
}

it('a receiver that is ready hears from the sender while another one has not answered', async () => {
  const heard = new Deferred<void>();
  const early = await fake(async (channel) => {
    const frames = await getReady(channel);
    await frameOf(frames, 'pulse');
    heard.resolve();
    await upToFinish(channel, frames);
    channel.send(done);
  });
  const late = await fake(async (channel) => {
    await heard.promise;
    await upToFinish(channel, await getReady(channel));
    channel.send(done);
  });
  const limits = { connectTimeoutMs: LONG_MS, stallTimeoutMs: LONG_MS };
  const { receivers } = await castFile(source(), { to: [early, late], ...limits }).finished;
  expect(receivers.map(({ state }) => state)).toEqual(['complete', 'complete']);
});

it('receivers hear from the sender while they join the mesh', async () => {
  const heard = new Deferred<void>();
  const to = await fake(async (channel) => {
    // The members have come: this one lets the others wait.
    const frames = await goAlong(channel);
    await frameOf(frames, 'pulse');
    heard.resolve();
    await frameOf(frames, 'abort');
    channel.destroy();
  });
  const limits = { connectTimeoutMs: LONG_MS, stallTimeoutMs: LONG_MS };
  const cast = castFile(source(), { to: [to], ...limits });
  await heard.promise;
  cast.abort();
  await expect(cast.finished).rejects.toMatchObject({ code: 'ERR_RDMC_ABORTED' });
});

it('a receiver hears from the sender while it stores, and while its command runs, also where nothing was sent', async () => {
  const to = await fake(async (channel) => {
    const frames = await getReady(channel);
    await upToFinish(channel, frames);
    await frameOf(frames, 'pulse');
    channel.send(done);
  });
  const { receivers } = await castFile(source(), { to: [to], stallTimeoutMs: LONG_MS }).finished;
  expect(receivers).toMatchObject([{ state: 'complete', unchangedFiles: 1 }]);
});

it('one that says nothing any more at the end of a cast that sent nothing is dropped, and the cast ends', async () => {
  const has = { type: 'progress', receivedMessages: 0, partialBytes: 0, storedMessages: 0, writerBusyMs: 0 };
  const to = await fake(async (channel) => {
    const frames = await getReady(channel);
    const reports = setInterval(() => channel.send(has as ReceiverFrame), HEARTBEAT_MS);
    try {
      await upToFinish(channel, frames);
    } finally {
      clearInterval(reports);
    }
  });
  const cast = castFile(source(), { to: [to], stallTimeoutMs: MIN_STALL_TIMEOUT_MS });
  await expect(cast.finished).rejects.toMatchObject({ code: 'ERR_RDMC_RECEIVER_STALLED' });
});

it('a receiver does not blame the sender for the time that it takes itself for its answer', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const opened = new Deferred<{ freeBytes: number }>();
  const sent: ReceiverFrame[] = [];
  const send = (frame: ReceiverFrame): void => void sent.push(frame);
  const channel = { send, end: async () => {}, peer: 'the sender', localHost: '127.0.0.1', remoteHost: '' };
  const writer = { open: () => opened.promise, end: async () => {}, storedFiles: 0, storedBytes: 0 };
  const limits = { connectTimeoutMs: LONG_MS, stallTimeoutMs: MIN_STALL_TIMEOUT_MS };
  const invitation = { checksumKey: '', comparison: policy, senderName: '', ...limits };
  const reception = new Reception(
    channel as unknown as Channel,
    invitation as unknown as Invitation,
    { directory: '/' } as CheckedReceiveOptions,
    { writer } as unknown as CastThreads,
    () => {},
  );
  const ended = new Deferred<IteratorResult<SenderFrame, void>>();
  const over = reception.run({ next: () => ended.promise });
  await vi.advanceTimersByTimeAsync(2 * MIN_STALL_TIMEOUT_MS);
  expect(sent).toEqual([]);
  opened.resolve({ freeBytes: 1 });
  await until(() => sent.length > 0);
  await vi.advanceTimersByTimeAsync(2 * MIN_STALL_TIMEOUT_MS);
  const words = sent.filter(({ type }) => type !== 'progress');
  expect(words).toMatchObject([{ type: 'ready' }, { type: 'failed', code: 'ERR_RDMC_SENDER_LOST' }]);
  ended.resolve({ done: true, value: undefined });
  await over;
});
