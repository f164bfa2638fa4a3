import { createSchedule } from '@rdmc/schedule';
import { describe, expect, it } from 'vitest';
import { rankDocument, scheduleDocument } from '../src/schedule/document.js';
import { answer } from './support/cli.js';

describe('rdmc schedule', () => {
  it('draws the blocks each member receives in each step', async () => {
    const { code, stdout } = await answer('schedule', '--nodes', '4', '--blocks', '3');
    expect(code).toBe(0);
    expect(stdout.split('\n').slice(0, 5)).toEqual([
      'member  0 1 2 3   step',
      '0 root  · · · · has all',
      '1       A · C B',
      '2       · B A C',
      '3       · A B C',
    ]);
    expect(stdout).toContain('4 steps; no schedule with one send and one receive per step needs fewer');
    expect(stdout).toContain('sequential 9, chain 5, binomial-tree 6');
  });

  it('draws senders with --format table and lists transfers with --format steps', async () => {
    const table = await answer('schedule', '-n', '3', '-k', '2', '-f', 'table', '-a', 'chain');
    expect(table.stdout.split('\n').slice(1, 4)).toEqual([
      '0 root    ·   ·   · has all',
      '1       0→A 0→B   ·',
      '2         · 1→A 1→B',
    ]);
    const steps = await answer('schedule', '-n', '3', '-k', '2', '-f', 'steps', '-a', 'chain');
    expect(steps.stdout.split('\n').slice(0, 3)).toEqual([
      'step 0  0→1 A',
      'step 1  0→1 B  1→2 A',
      'step 2  1→2 B',
    ]);
  });

  it('prints one JSON document that equals the schedule', async () => {
    const { stdout } = await answer('schedule', '-n', '6', '-k', '5', '--json');
    const document = scheduleDocument.parse(JSON.parse(stdout));
    const schedule = createSchedule({ algorithm: 'binomial-pipeline', nodes: 6, blocks: 5 });
    expect(document.transfers).toEqual([...schedule.transfers()]);
    expect(document.steps).toBe(schedule.steps);
  });

  it('prints one rank of a very large schedule', async () => {
    const { code, stdout } = await answer('schedule', '-n', '100000', '-k', '8', '-r', '99999', '--json');
    expect(code).toBe(0);
    const document = rankDocument.parse(JSON.parse(stdout));
    expect(document.receives.map(({ block }) => block).sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    const text = await answer('schedule', '-n', '100000', '-k', '8', '-r', '99999');
    expect(text.stdout).toMatch(/rank 99999 receives 8 blocks, sends \d+, and needs \d+ queue pairs\./);
  });

  it('takes racks for hybrid', async () => {
    const { stdout } = await answer('schedule', '-a', 'hybrid', '-n', '4', '--racks', 'a,a,b,b', '--json');
    expect(scheduleDocument.parse(JSON.parse(stdout)).racks).toEqual(['a', 'a', 'b', 'b']);
  });

  it.each([
    ['a drawing of too many members', ['-n', '65'], '--rank R'],
    ['a drawing of too many steps', ['-k', '1000'], '--json'],
    ['a list of too many transfers', ['-n', '1000', '-k', '100', '-f', 'steps'], '--rank R'],
    ['JSON of too many transfers', ['-n', '100000', '-k', '64', '--json'], '--rank R'],
    [
      'the root of a huge sequential schedule',
      ['-a', 'sequential', '-n', '1000000', '-k', '9', '-r', '0'],
      '--json',
    ],
  ])('refuses %s and says what to do instead', async (_, args, advice) => {
    const { code, stderr } = await answer('schedule', ...args);
    expect(code).toBe(2);
    expect(stderr).toMatch(/^error ERR_RDMC_USAGE: /);
    expect(stderr).toContain(advice);
  });

  it.each([
    ['one member', ['-n', '1'], '--nodes: found "1"; expected a whole number from 2 to 1048576'],
    ['no blocks', ['-k', '0'], '--blocks: found "0"'],
    ['a malformed number', ['-n', '8x'], '--nodes: found "8x"'],
    ['a rank out of range', ['-r', '8'], 'the ranks of 8 members are 0 to 7'],
    ['an unknown algorithm', ['-a', 'tree'], 'expected one of sequential, chain'],
    ['an unknown format', ['-f', 'svg'], 'expected draw, table or steps'],
    ['hybrid without racks', ['-a', 'hybrid'], 'ERR_RDMC_INVALID_RACKS'],
    ['an unknown option', ['--node', '8'], "unknown option '--node'"],
  ])('answers %s with exit code 2', async (_, args, message) => {
    const { code, stderr, stdout } = await answer('schedule', ...args);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
    expect(stdout).toBe('');
  });
});
