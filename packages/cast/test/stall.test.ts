import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { castFile, castStream } from '@rdmc/cast';
import { isStopped, until as untilTrue } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { slow, someReceived, sourceTree, until } from './support/disturbed.js';
import { ReceiverProcess, startReceivers, temporaries } from './support/receivers.js';
import { expectSameTree, seededBytes } from './support/tree.js';

/** Long: a busy machine does not keep the other receivers from their reports for that time. */
const STALL_MS = 15_000;
/** Between looks at a process. */
const LOOK_EVERY_MS = 10;

describe('a receiver that makes no progress', () => {
  it('is dropped after the stall time-out; when it resumes it cleans up', async () => {
    const from = sourceTree();
    const stopped = await ReceiverProcess.start();
    const [one, other] = await startReceivers(2);
    const to = [one!.to, stopped.address, other!.to];
    const cast = castFile(join(from, 'root'), { to, stallTimeoutMs: STALL_MS, ...slow });
    await until(cast, someReceived(1));
    stopped.child.kill('SIGSTOP');
    const summary = await cast.finished;
    expect(summary.receivers.map(({ state }) => state)).toEqual(['complete', 'failed', 'complete']);
    expect(summary.receivers[1]).toMatchObject({ code: 'ERR_RDMC_RECEIVER_STALLED' });
    for (const { directory } of [one!, other!]) expectSameTree(directory, from);
    stopped.child.kill('SIGCONT');
    await stopped.event('failed');
    stopped.child.send('close');
    await stopped.event('ended');
    expect(temporaries(stopped.directory)).toEqual([]);
  });

  it('for less than that is waited for', async () => {
    const bytes = seededBytes(2_000_000, 1);
    const [first, second] = [bytes.subarray(0, 1_000_000), bytes.subarray(1_000_000)];
    const stopped = await ReceiverProcess.start();
    const [other] = await startReceivers(1);
    const input = new PassThrough();
    const to = [other!.to, stopped.address];
    const cast = castStream(input, { name: 'x', to, ...slow });
    input.write(first);
    await until(cast, someReceived(1));
    stopped.signal('SIGSTOP');
    await untilTrue(() => isStopped(stopped.pid), LOOK_EVERY_MS);
    // It may have the whole first half. It gets nothing of the second half while it is stopped.
    input.end(second);
    // The cast would be over by then, but its end waits for all members of the group.
    let snapshots = 0;
    await until(cast, () => ++snapshots > 30);
    expect(cast.progress!.receivers[1]!.receivedBytes).toBeLessThanOrEqual(first.length);
    stopped.signal('SIGCONT');
    const summary = await cast.finished;
    expect(summary.receivers.map(({ state }) => state)).toEqual(['complete', 'complete']);
    for (const { directory } of [other!, stopped])
      expect(readFileSync(join(directory, 'x')).equals(bytes)).toBe(true);
  });
});
