import { beforeEach, describe, expect, it } from 'vitest';
import { finishedOf, Receiver, type RunningReceiver } from './support/casting.js';
import { Scratch } from './support/cli.js';
import { disturb, expectWhole, FASTER } from './support/disturbed.js';
import { receiverHere } from './support/here.js';

let scratch: Scratch;
beforeEach(() => {
  scratch = new Scratch();
});

describe('when a receiver is lost', () => {
  it('by kill -9, the others finish, the summary names it, and the exit code is 6', async () => {
    const { file, receivers, others, sender } = await disturb(scratch, 1, { rate: FASTER, others: 2 });
    const lost = receivers[0]!;
    // Until it is gone, its files are not those of a dead receiver.
    await lost.cli.kill();
    const ended = await sender.ended;
    expect(ended.code).toBe(6);
    const finished = finishedOf(ended);
    expect(finished).toMatchObject({ outcome: 'partial', exitCode: 6 });
    expect(finished.receivers.map(({ name, state }) => `${name} ${state}`)).toEqual([
      `${lost.name} failed`,
      ...others.map(({ name }) => `${name} complete`),
    ]);
    expect(finished.receivers[0]!.code).toBe('ERR_RDMC_RECEIVER_LOST');
    for (const other of others) expectWhole(other, file);
    expect(lost.left()).not.toContain('sample');
    // What no cast can use of the killed one is removed by the next one in that directory.
    const next = await receiverHere(lost.directory);
    expect(next.visible()).toEqual([]);
  });

  it('by kill -9, and another one is there when it is cast to again, all is well', async () => {
    const { file, receivers, sender } = await disturb(scratch, 2, {
      rate: FASTER,
      args: ['--retries', '1', '--stall-timeout', '10min'],
    });
    const [lost, other] = receivers as [RunningReceiver, RunningReceiver];
    // The other one holds the first cast up until there is another in its place.
    process.kill(other.pid, 'SIGSTOP');
    process.kill(lost.pid, 'SIGKILL');
    await lost.cli.ended;
    const next = await Receiver.start(lost.directory, [], {}, lost.name);
    process.kill(other.pid, 'SIGCONT');
    const ended = await sender.ended;
    expect(ended.code).toBe(0);
    const [first, second] = finishedOf(ended).receivers;
    expect(first!.attempts).toBe(2);
    expect(second!.attempts).toBe(1);
    for (const receiver of [next, other]) expectWhole(receiver, file);
  });

  it('by Ctrl-C, it shows nothing incomplete, and the others finish', async () => {
    const { file, receivers, others, sender } = await disturb(scratch, 1, { rate: FASTER, others: 1 });
    receivers[0]!.cli.child.kill('SIGINT');
    const received = await receivers[0]!.cli.ended;
    expect(received.code).toBe(130);
    expect(received.stderr).toContain('error ERR_RDMC_INTERRUPTED: interrupted by SIGINT');
    expect(receivers[0]!.visible()).toEqual([]);
    expect((await sender.ended).code).toBe(6);
    expectWhole(others[0]!, file);
  });

  it('by SIGTERM, it shows nothing incomplete, and ends with 0; the sender, without another receiver, with 4', async () => {
    const { receivers, sender } = await disturb(scratch, 1);
    receivers[0]!.cli.child.kill('SIGTERM');
    const received = await receivers[0]!.cli.ended;
    expect(received).toMatchObject({ code: 0, stderr: expect.not.stringContaining('error') });
    expect(receivers[0]!.visible()).toEqual([]);
    expect((await sender.ended).code).toBe(4);
  });

  it('because it makes no progress, it is reported and dropped', async () => {
    const { file, receivers, others, sender } = await disturb(scratch, 1, {
      ...{ rate: FASTER, others: 1 },
      // Long: a busy machine does not keep the other receiver from its reports for that time.
      args: ['--stall-timeout', '15s'],
    });
    process.kill(receivers[0]!.pid, 'SIGSTOP');
    const ended = await sender.ended;
    expect(ended.code).toBe(6);
    expect(finishedOf(ended).receivers[0]).toMatchObject({
      state: 'failed',
      code: 'ERR_RDMC_RECEIVER_STALLED',
    });
    expectWhole(others[0]!, file);
  });
});
