import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type CastSummary, castFile, receiveFiles, removeKept } from '@rdmc/cast';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { rejection } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { slow, someReceived, sourceTree, until } from './support/disturbed.js';
import { ReceiverProcess, startReceivers, temporaries, visible } from './support/receivers.js';
import { expectSameTree } from './support/tree.js';

/** Receivers in this process, except those with these numbers, which are processes that the test can kill. */
async function receiversAmong(count: number, mortal: readonly number[]) {
  const processes = await Promise.all(mortal.map(() => ReceiverProcess.start()));
  const others = await startReceivers(count - mortal.length);
  const receivers = Array.from({ length: count }, (_, number) => {
    const process = processes[mortal.indexOf(number)];
    return process ? { to: process.address, directory: process.directory } : others.shift()!;
  });
  return { receivers, to: receivers.map((each) => each.to), processes };
}

/** The receiver that dies, and the algorithm; RDMC_TEST_LONG=1: also the first one of three. */
const DEATHS = [
  [2, 'binomial-pipeline'],
  [1, 'chain'],
  ...(process.env.RDMC_TEST_LONG === '1' ? [[0, 'binomial-pipeline'] as const] : []),
] as const;

describe('a receiver that dies in the middle of a cast', () => {
  it.each(DEATHS)(
    'number %i of three (%s): is named, and the others get everything',
    async (victim, algorithm) => {
      const from = sourceTree();
      const { receivers, to, processes } = await receiversAmong(3, [victim]);
      const cast = castFile(join(from, 'root'), { to, algorithm, ...slow });
      await until(cast, someReceived(victim));
      // Until it is gone, its files are not those of a dead receiver.
      await processes[0]!.kill();
      const summary = await cast.finished;
      expect(summary.receivers.map(({ state }) => state)).toEqual(
        [0, 1, 2].map((index) => (index === victim ? 'failed' : 'complete')),
      );
      expect(summary.receivers[victim]).toMatchObject({ ...to[victim], code: 'ERR_RDMC_RECEIVER_LOST' });
      for (const [index, receiver] of receivers.entries()) {
        if (index === victim) expect(visible(receiver.directory)).toEqual([]);
        else expectSameTree(receiver.directory, from);
      }
      // The next receiver in that directory removes what no cast can use.
      const { directory } = receivers[victim]!;
      expect(temporaries(directory)).toHaveLength(1);
      await (await receiveFiles({ directory, port: 0 })).close();
      expect(temporaries(directory)).toEqual([]);
      await removeKept(directory);
      expect(readdirSync(directory)).toEqual([]);
    },
  );

  it('two of three, one after the other: the last one gets everything', async () => {
    const from = sourceTree();
    const { receivers, to, processes } = await receiversAmong(3, [0, 1]);
    const cast = castFile(join(from, 'root'), { to, ...slow });
    await until(cast, someReceived(0));
    processes[0]!.child.kill('SIGKILL');
    await until(
      cast,
      ({ receivers: [first, , third] }) => first!.state === 'failed' && third!.receivedBytes > 1_500_000,
    );
    processes[1]!.child.kill('SIGKILL');
    const summary = await cast.finished;
    expect(summary.receivers.map(({ state }) => state)).toEqual(['failed', 'failed', 'complete']);
    expectSameTree(receivers[2]!.directory, from);
  });

  it('all: the cast rejects, and its summary has the reason of each', async () => {
    const from = sourceTree();
    const receivers = await Promise.all([0, 1].map(() => ReceiverProcess.start()));
    const cast = castFile(join(from, 'root'), { to: receivers.map(({ address }) => address), ...slow });
    await until(cast, someReceived(0));
    for (const { child } of receivers) child.kill('SIGKILL');
    const error = await rejection<Error & { code: string; summary: CastSummary }>(cast.finished);
    expect(error.code).toBe('ERR_RDMC_RECEIVER_LOST');
    expect(error.summary.receivers.map(({ code }) => code)).toEqual(Array(2).fill('ERR_RDMC_RECEIVER_LOST'));
  });

  it('with a retry: gets everything from another cast, when it is there again', async () => {
    const from = sourceTree();
    // At reserved ports: the second one is used again.
    const reserved = await reserveLoopbackPorts(2);
    for (const { server } of reserved) server.close();
    const receivers = await Promise.all(reserved.map(({ port }) => ReceiverProcess.start({ port })));
    const to = receivers.map(({ address }) => address);
    const cast = castFile(join(from, 'root'), { to, retries: 1, stallTimeoutMs: 600_000, ...slow });
    await until(cast, someReceived(1));
    // The other receiver delays the first cast until this one is back.
    receivers[0]!.child.kill('SIGSTOP');
    await receivers[1]!.kill();
    const { directory } = receivers[1]!;
    const again = await ReceiverProcess.start({ directory, port: to[1]!.port });
    receivers[0]!.child.kill('SIGCONT');
    const summary = await cast.finished;
    expect(summary.receivers).toMatchObject([
      { state: 'complete', attempts: 1 },
      { state: 'complete', attempts: 2 },
    ]);
    expect(summary.problems).toEqual([]);
    expectSameTree(receivers[0]!.directory, from);
    expectSameTree(again.directory, from);
  });
});
