import { linkSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import {
  type AfterCast,
  type ArrivedCast,
  type CastOptions,
  type CastProgress,
  castFiles,
  receiveFiles,
} from '@rdmc/cast';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { refusal, rejection, temporaryDirectory, thrown, timerByHand } from '@rdmc/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { MIB } from '../src/constants.js';
import { type FetcherFrame, pullShapes, type ServerFrame } from '../src/pull/frames.js';
import { fakeReceiver, hello } from './support/fake-receiver.js';
import { outcome, startReceivers, temporaries } from './support/receivers.js';
import { expectSameTree, seededBytes, write } from './support/tree.js';

/** A port at which nothing listens. */
async function freePort(): Promise<number> {
  const [reserved] = await reserveLoopbackPorts(1);
  await new Promise((resolve) => reserved!.server.close(resolve));
  return reserved!.port;
}

/** A cast, whose snapshots `until` reads. */
function start(paths: string[], options: CastOptions) {
  const cast = castFiles(paths, { device: 'soft', joinWindowMs: 600_000, ...options });
  onTestFinished(() => cast[Symbol.asyncDispose]());
  const snapshots = cast[Symbol.asyncIterator]();
  /** Resolves when a snapshot is as the test needs it. */
  const until = async (isIt: (snapshot: CastProgress) => boolean): Promise<CastProgress> => {
    for (;;) {
      const { value, done } = await snapshots.next();
      if (done) throw new Error('the cast has ended');
      if (isIt(value)) return value;
    }
  };
  return { finished: cast.finished, until };
}

const WINDOW_MS = 7_654_321;

async function lateReceiver(port: number, directory = temporaryDirectory(), afterCast?: AfterCast) {
  const receiver = await receiveFiles({ directory, port, device: 'soft', afterCast });
  onTestFinished(() => receiver.close());
  return { receiver, directory };
}

describe('a cast to receivers that begin at different times', () => {
  it('begins when so many have answered, and brings a tree with links; then only what is missing', async () => {
    const from = temporaryDirectory();
    write(from, 'model/large', seededBytes(2 * MIB + 5, 1));
    write(from, 'model/small', 'small', 0o600);
    write(from, 'model/empty', '');
    mkdirSync(join(from, 'model/bare'), { mode: 0o750 });
    symlinkSync('small', join(from, 'model/symbolic'));
    linkSync(join(from, 'model/small'), join(from, 'model/zhard'));
    const seen: string[] = [];
    const afterCast = async ({ names, files }: ArrivedCast): Promise<void> => {
      seen.push(...names.map((name) => `${Buffer.from(name)} ${files}`));
    };
    const [first] = await startReceivers(1, { device: 'soft' });
    const port = await freePort();
    const to = [first!.to, { host: '127.0.0.1', port }];
    const cast = start([join(from, 'model')], { to, waitFor: 2 });
    const waiting = await cast.until(({ receivers }) => receivers[0]!.state === 'ready');
    expect(waiting).toMatchObject({ phase: expect.stringMatching('preparing|connecting'), sentBytes: 0 });
    // One that is lost before the beginning is called again.
    await first!.receiver.close();
    const { directory: its } = first!;
    expect(readdirSync(its)).toEqual([]);
    const early = await lateReceiver(first!.to.port, its, afterCast);
    const event = outcome(early.receiver);
    const late = await lateReceiver(port);
    const summary = await cast.finished;
    expect(summary).toMatchObject({ files: 3, links: 2, directories: 2, sentFiles: 3, problemCount: 0 });
    const bytes = 2 * MIB + 10;
    // Both were there before anything was sent, so everything was sent once.
    expect(summary).toMatchObject({ bytes, sentBytes: bytes, transferredBytes: bytes, encrypted: true });
    expect(summary.receivers.map(({ state, attempts, files }) => [state, attempts, files])).toEqual([
      ['complete', 2, 3],
      ['complete', 1, 3],
    ]);
    expect(await event).toMatchObject({ type: 'complete', files: 3, links: 2, directories: 2 });
    expect(seen).toEqual(['model 3']);
    for (const { directory } of [early, late]) {
      expectSameTree(directory, from);
      expect(temporaries(directory)).toEqual([]);
    }

    writeFileSync(join(from, 'model/small'), 'other');
    const filters = [{ action: 'exclude', pattern: 'large' }] as const;
    const again = await start([join(from, 'model')], { to: [first!.to], waitFor: 1, filters }).finished;
    expect(again).toMatchObject({ files: 2, sentFiles: 1, sentBytes: 5 });
    expect(again.receivers).toMatchObject([{ files: 1, unchangedFiles: 1 }]);
    expectSameTree(early.directory, from);
  });

  it('one that comes while the cast runs gets the rest with the others, and the beginning afterwards', async () => {
    const from = temporaryDirectory();
    write(from, 'file', seededBytes(8 * MIB, 2));
    const [early] = await startReceivers(1, { device: 'soft' });
    const port = await freePort();
    const to = [early!.to, { host: '127.0.0.1', port }];
    // Four seconds, in which the late one joins, unless the machine is very busy.
    const cast = start([join(from, 'file')], { to, waitFor: 1, bandwidthLimit: 2 * MIB });
    await cast.until(({ sentBytes }) => sentBytes > 0);
    const { directory } = await lateReceiver(port);
    const summary = await cast.finished;
    expect(summary.receivers.map(({ state, bytes }) => [state, bytes])).toEqual([
      ['complete', 8 * MIB],
      ['complete', 8 * MIB],
    ]);
    // The beginning was sent twice, at most.
    expect(summary.transferredBytes).toBeGreaterThan(8 * MIB);
    expect(summary.transferredBytes).toBeLessThanOrEqual(16 * MIB);
    expect(summary).toMatchObject({ sentFiles: 1, sentBytes: 8 * MIB });
    for (const each of [directory, early!.directory]) expectSameTree(each, from);
  });

  it('sends nothing where too few answer, and tells those that did', async () => {
    const from = temporaryDirectory();
    write(from, 'file', 'contents');
    const [early] = await startReceivers(1, { device: 'soft' });
    const failed = outcome(early!.receiver);
    const to = [early!.to, { host: '127.0.0.1', port: await freePort() }];
    const endWindow = timerByHand(WINDOW_MS);
    const cast = start([join(from, 'file')], { to, waitFor: 2, joinWindowMs: WINDOW_MS });
    const failure = rejection(cast.finished);
    await cast.until(({ receivers }) => receivers[0]!.state === 'ready');
    endWindow();
    const error = await failure;
    expect(error).toEqual(refusal('ERR_RDMC_TOO_FEW_RECEIVERS'));
    expect(error).toMatchObject({ message: expect.stringContaining('1 of the 2 receivers') });
    const receivers = [{ code: 'ERR_RDMC_TOO_FEW_RECEIVERS' }, { code: 'ERR_RDMC_CAST_UNREACHABLE' }];
    expect(error).toMatchObject({ summary: { receivers } });
    expect(await failed).toMatchObject({ type: 'failed', code: 'ERR_RDMC_TOO_FEW_RECEIVERS' });
    expect(readdirSync(early!.directory)).toEqual([]);
  });
});

describe('what a gathering cast refuses', () => {
  it('options that it does not have, and impossible numbers', () => {
    const to = [{ host: '127.0.0.1' }];
    for (const options of [
      { delete: true },
      { update: true },
      { existing: true },
      { dryRun: true },
      { algorithm: 'chain' as const },
      { messageBytes: MIB },
    ])
      expect(thrown(() => castFiles(['x'], { to, waitFor: 1, ...options }))).toEqual(
        refusal('ERR_RDMC_INVALID_OPTION'),
      );
    for (const waitFor of [0, 2, 1.5])
      expect(thrown(() => castFiles(['x'], { to, waitFor }))).toEqual(refusal('ERR_RDMC_INVALID_OPTION'));
    expect(thrown(() => castFiles(['x'], { to, joinWindowMs: -1 }))).toEqual(
      refusal('ERR_RDMC_INVALID_OPTION'),
    );
  });

  it('a path that does not exist; receivers that require encryption, have sinks, or have one directory', async () => {
    const from = temporaryDirectory();
    write(from, 'file', 'contents');
    const [receiver] = await startReceivers(1, { device: 'soft', requireEncryption: true });
    const to = [receiver!.to];
    expect(await rejection(start([join(from, 'none')], { to }).finished)).toEqual(
      refusal('ERR_RDMC_NOT_FOUND'),
    );
    expect(await rejection(start([join(from, 'file')], { to, encrypt: false }).finished)).toEqual(
      refusal('ERR_RDMC_TOO_FEW_RECEIVERS'),
    );
    const sinks = await receiveFiles({ sink: () => new PassThrough(), port: 0, device: 'soft' });
    onTestFinished(() => sinks.close());
    const refused = await rejection(start([join(from, 'file')], { to: [sinks.address] }).finished);
    expect(refused).toMatchObject({ summary: { receivers: [{ code: 'ERR_RDMC_INVALID_OPTION' }] } });
    const shared = await lateReceiver(0, receiver!.directory);
    const { receivers } = await start([join(from, 'file')], {
      to: [...to, shared.receiver.address],
      waitFor: 1,
    }).finished;
    expect(receivers.map(({ state }) => state).sort()).toEqual(['complete', 'failed']);
    expect(receivers.find(({ state }) => state === 'failed')).toMatchObject({
      code: 'ERR_RDMC_SHARED_DIRECTORY',
    });
  });

  it('a receiver that refuses what is offered: it is not called again', async () => {
    const from = temporaryDirectory();
    write(from, 'model/a', 'a');
    write(from, 'model/b', 'b');
    const [receiver] = await startReceivers(1, { device: 'soft', oneFile: true });
    const error = await rejection(start([join(from, 'model')], { to: [receiver!.to], waitFor: 1 }).finished);
    expect(error).toEqual(refusal('ERR_RDMC_TOO_FEW_RECEIVERS'));
    expect(error).toMatchObject({
      summary: { receivers: [{ code: 'ERR_RDMC_SEVERAL_FILES', attempts: 1 }] },
    });
  });
});

it('a receiver that says it serves on does not keep a gathering cast from its end', async () => {
  const from = temporaryDirectory();
  write(from, 'file', 'contents');
  const liar = await fakeReceiver(async (channel) => {
    const first = channel[Symbol.asyncIterator]();
    await first.next();
    channel.send(hello);
    await first.next();
    channel.send({ type: 'gathered' });
    const pulled = channel.become<FetcherFrame, ServerFrame>(pullShapes.server, first);
    const counts = {
      files: 0,
      bytes: 0,
      keptBytes: 0,
      resumedBytes: 0,
      unchangedFiles: 1,
      unchangedBytes: 8,
    };
    for (;;) {
      const { value: frame, done } = await pulled.frames.next();
      if (done) return;
      if (frame.type === 'hashes') pulled.channel.send({ type: 'have', first: 0, data: 'AQ==', last: true });
      else if (frame.type === 'finish')
        pulled.channel.send({ type: 'done', ...counts, problems: [], problemCount: 0, servesOn: true });
    }
  });
  onTestFinished(() => liar.close());
  const { receivers } = await start([join(from, 'file')], { to: [liar.to] }).finished;
  expect(receivers).toMatchObject([{ state: 'complete', unchangedFiles: 1 }]);
});
