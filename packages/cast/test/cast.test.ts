import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { type CastProgress, castFile, castFiles, surveyFiles } from '@rdmc/cast';
import { temporaryDirectory } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { outcome, ReceiverProcess, startReceivers, temporaries } from './support/receivers.js';
import { expectSameTree, namesIn, seededBytes, write } from './support/tree.js';

const KEY = 'a key of more than sixteen bytes';

function sourceTree(bytes = 3_000_000): string {
  const from = temporaryDirectory();
  write(from, 'root/large', seededBytes(bytes, 1));
  write(from, 'root/small/one', 'one', 0o600);
  write(from, 'root/small/empty', '');
  symlinkSync('small/one', join(from, 'root/link'));
  return from;
}

const ALL_NEW = { keptBytes: 0, resumedBytes: 0, unchangedFiles: 0, unchangedBytes: 0, removed: 0 };

describe('castFiles', () => {
  it.each([
    [3, {}],
    [2, { key: KEY, transport: 'tcp' as const }],
  ])('to %i receivers in separate processes, %j: everything arrives', async (count, options) => {
    const from = sourceTree();
    const { key, transport } = options as { key?: string; transport?: 'tcp' };
    const host = '127.0.0.1';
    const receivers = await Promise.all(
      Array.from({ length: count }, () => ReceiverProcess.start({ host, key, transport })),
    );
    const to = receivers.map(({ address }) => address);
    const summary = await castFiles([join(from, 'root')], { ...options, to, messageBytes: 1 << 20 }).finished;
    expect(summary).toMatchObject({ files: 3, directories: 2, links: 1, bytes: 3_000_003, problemCount: 0 });
    expect(summary.receivers).toEqual(
      to.map((address) => ({
        ...address,
        state: 'complete',
        attempts: 1,
        files: 3,
        bytes: 3_000_003,
        ...ALL_NEW,
      })),
    );
    for (const receiver of receivers) {
      expect(await receiver.event('route')).toMatchObject({
        device: 'soft',
        transports: [transport ?? 'shm'],
      });
      expect(await receiver.event('complete')).toMatchObject({
        files: 3,
        links: 1,
        bytes: 3_000_003,
        problems: [],
      });
      expectSameTree(receiver.directory, from);
    }
  });

  it.each([
    [1, {}],
    [2, { key: KEY }],
    [3, { algorithm: 'chain' as const }],
    [2, { algorithm: 'sequential' as const, blockBytes: 10_000 }],
  ])('to %i receivers in this process, %j: everything arrives', async (count, options) => {
    const from = sourceTree();
    const { key } = options as { key?: string };
    const receivers = await startReceivers(count, { key });
    const outcomes = receivers.map(({ receiver }) => outcome(receiver));
    const to = receivers.map((each) => each.to);
    const cast = castFiles([join(from, 'root')], { ...options, to, messageBytes: 1 << 20 });
    const summary = await cast.finished;
    expect(summary).toMatchObject({ files: 3, bytes: 3_000_003, problemCount: 0 });
    expect(cast.progress?.route).toMatchObject({ device: 'soft', transports: ['shm'] });
    for (const [index, { directory }] of receivers.entries()) {
      expect(await outcomes[index]).toMatchObject({ type: 'complete', files: 3, links: 1, problems: [] });
      expectSameTree(directory, from);
    }
  });

  it.each([
    [
      'a chain by rack',
      {},
      { algorithm: 'chain', blockReason: expect.stringMatching(/^for 5 members over/) },
    ],
    ['hybrid', { algorithm: 'hybrid', blockBytes: 10_000 } as const, { blockReason: 'asked for' }],
  ])('to racks over TCP: %s', async (_, options, expected) => {
    const from = sourceTree();
    const receivers = await startReceivers(4, { transport: 'tcp' });
    const to = receivers.map(({ to }, index) => ({ ...to, rack: index % 2 }));
    const cast = castFiles([join(from, 'root')], {
      to,
      messageBytes: 1 << 20,
      transport: 'tcp',
      rack: 1,
      ...options,
    });
    await cast.finished;
    expect(cast.progress?.route).toMatchObject({ messageBytes: 1 << 20, ...options, ...expected });
    for (const { directory } of receivers) expectSameTree(directory, from);
  });

  it('reports its progress up to the end', async () => {
    const from = sourceTree();
    const receivers = await startReceivers(2);
    const cast = castFiles([join(from, 'root')], {
      to: receivers.map(({ to }) => to),
      bandwidthLimit: 6_000_000,
    });
    const seen: CastProgress[] = [];
    for await (const progress of cast) seen.push(progress);
    expect([...new Set(seen.map(({ phase }) => phase))]).toEqual(
      expect.arrayContaining(['preparing', 'connecting', 'sending', 'done']),
    );
    for (const [index, progress] of seen.entries()) {
      if (index === 0) continue;
      const before = seen[index - 1]!;
      expect(progress.sentBytes).toBeGreaterThanOrEqual(before.sentBytes);
      expect(progress.receivers[0]!.receivedBytes).toBeGreaterThanOrEqual(before.receivers[0]!.receivedBytes);
    }
    const last = seen.at(-1)!;
    const bytes = 3_000_003;
    expect(last).toMatchObject({ phase: 'done', totalBytes: bytes, totalFiles: 3, sentBytes: bytes });
    for (const receiver of last.receivers) {
      expect(receiver).toMatchObject({ state: 'complete', receivedBytes: bytes, storedBytes: bytes });
    }
  });

  it('of a file larger than all buffers together, limited in its bandwidth, takes its time', async () => {
    const from = temporaryDirectory();
    write(from, 'large', seededBytes(4_000_000, 1));
    const [receiver] = await startReceivers(1);
    const options = { to: [receiver!.to], messageBytes: 1 << 16, bandwidthLimit: 4_000_000 };
    const summary = await castFile(join(from, 'large'), options).finished;
    // One message may be sent early; the machine may be slower, but not faster.
    expect(summary.seconds).toBeGreaterThan(0.9);
    expectSameTree(receiver!.directory, from);
  });

  it('twice, and two at a time, to the same receivers', async () => {
    const receivers = await startReceivers(2);
    const to = receivers.map(({ to }) => to);
    const sources = [sourceTree(), temporaryDirectory()];
    write(sources[1]!, 'other/file', seededBytes(500_000, 2));
    const both = [castFile(join(sources[0]!, 'root'), { to }), castFile(join(sources[1]!, 'other'), { to })];
    await Promise.all(both.map(({ finished }) => finished));
    await castFile(join(sources[0]!, 'root'), { to }).finished;
    for (const { directory } of receivers) {
      const names = sources.flatMap((source) => namesIn(source)).sort();
      expect(namesIn(directory).sort()).toEqual(names);
      expect(temporaries(directory)).toEqual([]);
    }
  });

  it('of nothing but an empty directory or an empty file arrives', async () => {
    const from = temporaryDirectory();
    write(from, 'empty', '');
    const [receiver] = await startReceivers(1);
    const { to, directory } = receiver!;
    const summary = await castFile(join(from, 'empty'), { to: [to] }).finished;
    expect(summary).toMatchObject({ files: 1, bytes: 0 });
    expectSameTree(directory, from);
  });

  it('with `once` the receiver ends after its first cast', async () => {
    const from = sourceTree(1000);
    const receiver = await ReceiverProcess.start({ once: true });
    await castFile(join(from, 'root'), { to: [receiver.address] }).finished;
    await receiver.event('ended');
    await receiver.exited;
    expect(receiver.child.exitCode).toBe(0);
  });

  it('keeps to the ports a receiver was given', async () => {
    const from = sourceTree(1000);
    const [one] = await startReceivers(1);
    const first = one!.to.port;
    await one!.receiver.close();
    const last = Math.min(65_535, first + 63);
    const [receiver] = await startReceivers(1, { meshPorts: [first, last], transport: 'tcp' });
    await castFile(join(from, 'root'), { to: [receiver!.to], transport: 'tcp' }).finished;
    expectSameTree(receiver!.directory, from);
  });

  it('keeps to the ports the sender was given', async () => {
    const from = sourceTree(1000);
    const [one, receiver] = await startReceivers(2, { transport: 'tcp' });
    const first = one!.to.port;
    await one!.receiver.close();
    const last = Math.min(65_535, first + 63);
    const options = { to: [receiver!.to], transport: 'tcp', meshPorts: [first, last] } as const;
    const cast = castFile(join(from, 'root'), options);
    await cast.finished;
    const port = Number(/:(\d+)$/.exec(cast.progress!.route!.address)![1]);
    expect(port).toBeGreaterThanOrEqual(first);
    expect(port).toBeLessThanOrEqual(last);
    expect(() => castFile('x', { ...options, meshPorts: [2, 1] })).toThrow(/meshPorts\[1\]/);
  });

  it('works without a reader of its progress, and without a reader of the receiver’s events', async () => {
    const from = sourceTree(1000);
    const [receiver] = await startReceivers(1);
    await castFile(join(from, 'root'), { to: [receiver!.to] }).finished;
    expect(await outcome(receiver!.receiver)).toMatchObject({ type: 'complete', files: 3 });
  });
});

describe('surveyFiles', () => {
  it('counts what a cast would send', async () => {
    const from = sourceTree();
    expect(await surveyFiles([join(from, 'root')])).toEqual({
      files: 3,
      directories: 2,
      links: 1,
      bytes: 3_000_003,
      contentBytes: 3_000_003,
      problems: [],
      problemCount: 0,
    });
    await expect(surveyFiles([join(from, 'nothing')])).rejects.toMatchObject({ code: 'ERR_RDMC_NOT_FOUND' });
  });
});
