import { join } from 'node:path';
import { castFile } from '@rdmc/cast';
import { describe, expect, it } from 'vitest';
import { slow, someReceived, sourceTree, until } from './support/disturbed.js';
import { ReceiverProcess, temporaries } from './support/receivers.js';
import { expectSameTree } from './support/tree.js';

describe('a receiver that makes no progress', () => {
  it('is dropped after the stall time-out; when it resumes it cleans up', async () => {
    const from = sourceTree();
    const receivers = await Promise.all([0, 1, 2].map(() => ReceiverProcess.start()));
    const to = receivers.map(({ address }) => address);
    const cast = castFile(join(from, 'root'), { to, stallTimeoutMs: 4_000, ...slow });
    await until(cast, someReceived(1));
    receivers[1]!.child.kill('SIGSTOP');
    const summary = await cast.finished;
    expect(summary.receivers.map(({ state }) => state)).toEqual(['complete', 'failed', 'complete']);
    expect(summary.receivers[1]).toMatchObject({ code: 'ERR_RDMC_RECEIVER_STALLED' });
    expectSameTree(receivers[0]!.directory, from);
    expectSameTree(receivers[2]!.directory, from);
    receivers[1]!.child.kill('SIGCONT');
    await receivers[1]!.event('failed');
    receivers[1]!.child.send('close');
    await receivers[1]!.event('ended');
    expect(temporaries(receivers[1]!.directory)).toEqual([]);
  });

  it('for less than that is waited for', async () => {
    const from = sourceTree(2_000_000);
    const receivers = await Promise.all([0, 1].map(() => ReceiverProcess.start()));
    const cast = castFile(join(from, 'root'), { to: receivers.map(({ address }) => address), ...slow });
    await until(cast, someReceived(1));
    receivers[1]!.child.kill('SIGSTOP');
    // The cast would be over by then, but its end waits for all members of the group.
    let snapshots = 0;
    await until(cast, () => ++snapshots > 30);
    const { receivers: seen, totalBytes } = cast.progress!;
    expect(seen[1]!.receivedBytes).toBeLessThan(totalBytes);
    receivers[1]!.child.kill('SIGCONT');
    const summary = await cast.finished;
    expect(summary.receivers.map(({ state }) => state)).toEqual(['complete', 'complete']);
    for (const { directory } of receivers) expectSameTree(directory, from);
  });
});
