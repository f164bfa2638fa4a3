import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { simulationDocument } from '../src/simulate/document.js';
import { traceSummaryDocument } from '../src/trace/document.js';
import { answer } from './support/cli.js';

describe('rdmc simulate', () => {
  it('predicts the time of a multicast after it has validated the simulator', async () => {
    const { code, stdout } = await answer('simulate', '-n', '4', '-k', '16');
    expect(code).toBe(0);
    const lines = stdout.split('\n');
    expect(lines[0]).toMatch(/^validated: \d+ known results of 8 properties$/);
    expect(lines[1]).toBe('fractus: 100 Gbit/s, full bisection (RDMC, section 5.1)');
    expect(stdout).toContain('16 MiB in 16 blocks of 1 MiB');
    expect(stdout).toMatch(/^ {2}time +1\.\d ms, \d+\.\d\d Gbit\/s$/m);
    expect(stdout).toContain('17 steps, 48 transfers');
  });

  it('prints one JSON document', async () => {
    const { code, stdout } = await answer(
      'simulate',
      '-p',
      'apt',
      '-n',
      '4',
      '-k',
      '8',
      '--senders',
      '2',
      '--json',
    );
    expect(code).toBe(0);
    const document = simulationDocument.parse(JSON.parse(stdout));
    expect(document).toMatchObject({ preset: 'apt', nodes: 4, transfers: 48, steps: 9 });
    expect(document.messages).toHaveLength(2);
    expect(document.racks).toHaveLength(2);
    expect(document.hosts).toHaveLength(4);
  });

  it('takes windows, a slow link, preemption, offload and racks', async () => {
    const time = async (...args: string[]): Promise<number> => {
      const { stdout } = await answer('simulate', '-n', '8', '-k', '16', '--json', ...args);
      return simulationDocument.parse(JSON.parse(stdout)).microseconds;
    };
    const base = await time('-w', 'paper');
    expect(await time('-w', '2/1/1')).toBe(base);
    expect(await time('-w', 'paper', '--slow-link', '1-3:0.5')).toBeGreaterThan(base);
    expect(await time('-w', 'paper', '--preempt', '1000:100')).toBeGreaterThan(base);
    expect(await time('-w', 'paper', '--offload')).toBeLessThan(base);
    expect(await time('-w', 'paper', '-a', 'hybrid', '--racks', '0,0,0,0,1,1,1,1')).toBeGreaterThan(0);
  });

  it('writes what live groups would have recorded', async () => {
    const file = join(temporaryDirectory(), 'predicted.trace');
    const { code, stderr } = await answer('simulate', '-n', '4', '-k', '8', '--trace', file);
    expect(code).toBe(0);
    expect(stderr).toContain('Who delays whom');
    const { stdout } = await answer('trace', 'summary', file, '--json');
    const { members, messages } = traceSummaryDocument.parse(JSON.parse(stdout));
    expect(members.map(({ blocksReceived }) => blocksReceived)).toEqual([0, 8, 8, 8]);
    expect(members.reduce((sum, { blocksSent }) => sum + blocksSent, 0)).toBe(24);
    expect(messages).toBe(1);
  });

  it('writes a line for each member and step', async () => {
    const file = join(temporaryDirectory(), 'trace.jsonl');
    const { code } = await answer('simulate', '-n', '4', '-k', '3', '--trace', file);
    expect(code).toBe(0);
    const records = readFileSync(file, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(records.filter(({ received }) => received !== null)).toHaveLength(9);
    expect(records.filter(({ finished }) => finished !== null)).toHaveLength(9);
    expect(records[0]).toMatchObject({ node: 0, step: 0, sendTo: 1, sendBlock: 0 });
  });

  it.each([
    ['an unknown preset', ['-p', 'summit'], 2, 'ERR_RDMC_UNKNOWN_PRESET'],
    ['one member', ['-n', '1'], 2, '--nodes: found "1"'],
    ['unknown windows', ['-w', 'wide'], 2, 'expected shipped, ahead, paper, single'],
    ['a malformed slow link', ['--slow-link', '1-2'], 2, 'expected two ranks and a ratio'],
    ['a slow link to a stranger', ['--slow-link', '1-99:0.5'], 2, 'ERR_RDMC_INVALID_OPTION'],
    ['racks for other members', ['--racks', '0,1'], 2, 'ERR_RDMC_INVALID_OPTION'],
    ['hybrid without racks', ['-a', 'hybrid'], 2, 'ERR_RDMC_INVALID_RACKS'],
    ['a simulation larger than memory', ['-n', '65536', '-s', '64GiB'], 1, 'ERR_RDMC_SIMULATION_TOO_LARGE'],
    [
      'a trace in no folder',
      ['--trace', '/no/trace'],
      1,
      'ENOENT: cannot write the trace /no/trace: no such',
    ],
    [
      'a trace on a full disk',
      ['--trace', '/dev/full'],
      5,
      'ENOSPC: cannot write the trace /dev/full: no space',
    ],
  ])('answers %s with its code', async (_, args, exitCode, message) => {
    const { code, stderr, stdout } = await answer('simulate', ...args);
    expect(code).toBe(exitCode);
    expect(stderr).toContain(message);
    expect(stdout).toBe('');
  });

  it('lists the presets when it does not know one', async () => {
    const { stderr } = await answer('simulate', '-p', 'summit');
    expect(stderr).toContain('fractus, stampede, sierra, apt, hipower, tailwind, netlab');
  });
});
