import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CastProgress, ReceiverState } from '@rdmc/cast';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { timerByHand, until } from '@rdmc/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { Joining } from '../src/cast/gathering.js';
import { castEvents, finishedOf } from './support/casting.js';
import { type Answered, answer, answering, Scratch } from './support/cli.js';
import { receiverHere } from './support/here.js';

/** No other timer has this duration. */
const WINDOW_MS = 7_654_321;

let scratch: Scratch;
beforeEach(() => {
  scratch = new Scratch();
});

function sampleFile(): string {
  const file = join(scratch.path, 'sample');
  writeFileSync(file, 'contents');
  return file;
}

async function freePort(): Promise<number> {
  const [reserved] = await reserveLoopbackPorts(1);
  await new Promise((resolve) => reserved!.server.close(resolve));
  return reserved!.port;
}

describe('rdmc cast --wait-for', () => {
  it('waits for a receiver that starts later, and reports who joins', async () => {
    const early = await receiverHere(join(scratch.path, 'early'));
    const port = await freePort();
    const to = `${early.name},127.0.0.1:${port}`;
    const casting = answer(
      'cast',
      sampleFile(),
      '--to',
      to,
      '--wait-for',
      '2',
      '--join-window',
      '1h',
      '--json',
    );
    const late = await receiverHere(join(scratch.path, 'late'), { port });
    const ended = await casting;
    expect(ended.code, ended.stderr).toBe(0);
    for (const each of [early, late]) expect(each.visible()).toEqual(['sample']);
    expect(finishedOf(ended)).toMatchObject({ outcome: 'all', exitCode: 0, sentFiles: 1 });
    const joined = castEvents(ended).flatMap((each) => (each.event === 'joined' ? each : []));
    expect(joined.map(({ name }) => name).sort()).toEqual([early.name, late.name].sort());
    expect(joined.map(({ here }) => here)).toEqual([1, 2]);
  });

  it('ends with 6 where one never came, with 4 where too few came, and says which', async () => {
    const early = await receiverHere(join(scratch.path, 'early'));
    const never = `127.0.0.1:${await freePort()}`;
    const args = ['cast', sampleFile(), '--to', `${early.name},${never}`, '--join-window', `${WINDOW_MS}ms`];
    const endWindow = timerByHand(WINDOW_MS);
    const cast = (...more: string[]): Promise<Answered> =>
      answering([...args, ...more], (text) => {
        if (text.includes('is there: 1 of 2 receivers')) endWindow();
      });
    const few = await cast('--wait-for', '2');
    expect(few.code).toBe(4);
    expect(few.stderr).toContain('ERR_RDMC_TOO_FEW_RECEIVERS: 1 of the 2 receivers');
    expect(few.stderr).toContain('raise --join-window');
    // The receiver learns of the end by its connection, perhaps after the command.
    await until(() => early.visible().length === 0);

    const partly = await cast();
    expect(partly.code).toBe(6);
    expect(partly.stdout).toContain('1 of 2 receivers has 1 file');
    expect(partly.stderr).toContain(`${never}  ERR_RDMC_CAST_UNREACHABLE`);
    expect(early.visible()).toEqual(['sample']);
  });

  it.each([
    ['more than the receivers', ['--wait-for', '2'], '--wait-for 2: the receivers are 1'],
    ['--ssh', ['--wait-for', '1', '--ssh'], '--ssh starts all receivers at once'],
    ['--trace', ['--wait-for', '1', '--trace', 't.html'], '--trace is not possible with --wait-for'],
    ['--delete', ['--join-window', '1min', '--delete'], '--delete is not possible with --wait-for'],
    ['an algorithm', ['--wait-for', '1', '-a', 'chain'], '--algorithm chain is not possible'],
  ])('refuses %s: exit code 2', async (_, args, message) => {
    const { code, stderr } = await answer('cast', 'f', '--to', 'a', ...args);
    expect(stderr).toContain(message);
    expect(code).toBe(2);
  });
});

it('a receiver that was lost and answers again joins again', () => {
  const joining = new Joining(2, 3);
  const states = (...all: ReceiverState[]): CastProgress =>
    ({ receivers: all.map((state, index) => ({ name: `n${index}`, state })) }) as unknown as CastProgress;
  expect(joining.next(states('connecting', 'connecting', 'connecting'))).toEqual([]);
  const [first] = joining.next(states('ready', 'connecting', 'connecting'));
  expect(joining.describe(first!)).toBe('  n0 is there: 1 of 3 receivers, the cast begins with 2');
  expect(joining.next(states('ready', 'connecting', 'connecting'))).toEqual([]);
  expect(joining.next(states('connecting', 'connecting', 'connecting'))).toEqual([]);
  const both = joining.next(states('receiving', 'ready', 'failed'));
  expect(both.map(({ name, here }) => [name, here])).toEqual([
    ['n0', 1],
    ['n1', 2],
  ]);
  expect(joining.describe(both[1]!)).toBe('  n1 is there: 2 of 3 receivers');
});
