import { spawnSync } from 'node:child_process';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SimulateOptions } from '@rdmc/simulator';
import { refusal, temporaryDirectory, thrown } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import type { Bench, Figure, Way } from '../src/catalogue/figure.js';
import { LabError } from '../src/errors.js';
import { recordOf } from '../src/record/read.js';
import type { Outcome } from '../src/record/record.js';
import { writeRecord } from '../src/record/write.js';
import { reproduceOptions } from '../src/reproduce/options.js';
import { reproduce } from '../src/reproduce/reproduce.js';
import { SharedRuns } from '../src/reproduce/shared-runs.js';
import { root } from '../src/root.js';
import { runSweep, simulated } from '../src/simulation/sweep.js';
import { RECORD } from './support/record.js';

const OUTCOME: Outcome = { panels: RECORD.panels, facts: { flat: '1.02' }, notes: [], missing: ['Open MPI'] };
const WAY: Way = {
  id: 'simulated',
  name: 'simulator',
  kind: 'predicted',
  how: 'How.',
  command: 'the command',
  minutes: 1,
  rivals: ['Open MPI'],
  run: async () => OUTCOME,
};
const FIGURE: Figure = {
  id: 'rdmc-8',
  paper: 'rdmc',
  label: 'Figure 8',
  title: 'Title',
  shows: 'Shows.',
  facts: [{ id: 'flat', quantity: 'flat', paper: 'almost', origin: 'text' }],
  ways: [WAY],
};

/** A machine that gets busier, and whose programs print their first argument. */
function machine() {
  let load = 0;
  return {
    program: async ([first]: readonly string[]) => first!,
    busyPercent: async () => load,
    loadNow: () => {
      load += 1;
      return load;
    },
  };
}

/** Reproduces ways of a figure; what this prints, the ways that failed, and the folder of the records. */
async function reproduced(ways: readonly Way[], { isRoot = true, folder = temporaryDirectory('lab') } = {}) {
  const lines: string[] = [];
  const failed = await reproduce({ ...FIGURE, ways }, undefined, {
    runs: new SharedRuns(machine()),
    say: () => {},
    print: (line) => lines.push(line),
    folder,
    isRoot,
  });
  return { text: lines.join('\n'), failed, folder };
}

const printedBy = (way: Partial<Way>, options = {}) => reproduced([{ ...WAY, ...way }], options);

describe('a figure that is run again', () => {
  it('is recorded with machine, day, commit, command and kind', async () => {
    const { folder } = await printedBy({});
    expect(recordOf(folder, 'rdmc-8', 'simulated')).toMatchObject({
      version: 1,
      kind: 'predicted',
      command: 'the command',
      date: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
      commit: expect.stringMatching(/^([0-9a-f]{8}\+?|unknown)$/),
      machine: expect.stringContaining(`Node.js ${process.versions.node}`),
      facts: { flat: '1.02' },
    });
  });

  it('has the load of the machine if it was measured, and not if it was simulated', async () => {
    const run: Way['run'] = async (bench) => {
      await bench.command(['a']);
      await bench.command(['b']);
      return OUTCOME;
    };
    const { folder } = await printedBy({ kind: 'measured', run });
    expect(recordOf(folder, 'rdmc-8', 'simulated')!.load).toBe(
      'processors 0% busy before, load average 1.0 before, 4.0 after',
    );
    expect(recordOf((await printedBy({})).folder, 'rdmc-8', 'simulated')!.load).toBeUndefined();
  });

  it('prints its facts beside the paper, its numbers, and rivals that are missing', async () => {
    const { text } = await printedBy({});
    expect(text).toContain('flat: 1.02 here; the paper: almost');
    expect(text).toContain('without Open MPI: it is not installed');
    expect(text).toContain('1.5');
  });

  it('says that it needs root, and prints what is recorded', async () => {
    const folder = temporaryDirectory('lab');
    let ran = false;
    const way = {
      needsRoot: true,
      run: async () => {
        ran = true;
        return OUTCOME;
      },
    };
    expect((await printedBy(way, { isRoot: false, folder })).text).toMatch(
      /needs root.*\n.*not recorded yet\n.*the command/,
    );
    writeRecord(folder, RECORD);
    expect((await printedBy(way, { isRoot: false, folder })).text).toMatch(
      /needs root.*\n.*predicted on 2026-11-23/,
    );
    expect(ran).toBe(false);
  });

  it('prints the command of a way that is run by hand', async () => {
    expect((await printedBy({ run: undefined })).text).toContain('not recorded yet\n  command: the command');
  });
});

describe('a way that fails', () => {
  const netlab: Way = {
    ...WAY,
    id: 'netlab',
    needsRoot: true,
    run: async () => {
      throw new LabError('ERR_RDMC_BENCHMARK_FAILED', 'node run.mjs ended with 1');
    },
  };

  it('prints what is recorded, and does not hide the ways after it', async () => {
    const folder = temporaryDirectory('lab');
    writeRecord(folder, { ...RECORD, way: 'netlab' });
    const { text, failed } = await reproduced([netlab, WAY], { folder });
    expect(failed).toEqual(['netlab']);
    expect(text).toMatch(
      /failed: error ERR_RDMC_BENCHMARK_FAILED: node run\.mjs ended with 1\n.*predicted on 2026-11-23/,
    );
    expect(recordOf(folder, 'rdmc-8', 'simulated')).toMatchObject({ facts: { flat: '1.02' } });
    expect(recordOf(folder, 'rdmc-8', 'netlab')).toMatchObject({ date: '2026-11-23' });
  });

  it('is not one that this machine does not run', async () => {
    expect((await reproduced([netlab, WAY], { isRoot: false })).failed).toEqual([]);
  });
});

describe('a program that two ways share', () => {
  it('runs once, and both have the load around this run', async () => {
    const run = async ({ command }: Bench) => ({ ...OUTCOME, notes: [await command(['shared'])] });
    const ways = ['a', 'b'].map((id) => ({ ...WAY, id, kind: 'measured' as const, run }));
    const { folder } = await reproduced(ways);
    const [first, second] = ways.map(({ id }) => recordOf(folder, 'rdmc-8', id)!);
    expect(first!.notes).toEqual(['shared']);
    expect(second!.load).toBe('processors 0% busy before, load average 1.0 before, 2.0 after');
    expect(first!.load).toBe(second!.load);
  });
});

describe('a simulation larger than memory', () => {
  it('is refused before the first simulation of the figure starts', async () => {
    const said: string[] = [];
    const small = { cluster: 'fractus', nodes: 2, byteLength: 1 };
    const sweep = {
      figure: 'rdmc-8',
      kind: 'predicted',
      how: '',
      minutes: 1,
      runs: () =>
        new Map<string, SimulateOptions>([
          ['small', small],
          ['large', { ...small, nodes: 65_536, byteLength: 2 ** 36, memoryLimitBytes: 2 ** 31 }],
        ]),
      outcome: () => OUTCOME,
    } as const;
    await expect(runSweep(sweep, { say: (line) => said.push(line) })).rejects.toMatchObject({
      code: 'ERR_RDMC_SIMULATION_TOO_LARGE',
    });
    expect(said).toEqual([]);
    expect(simulated(sweep).command).toBe('npm run reproduce -- --figure rdmc-8 --way simulated');
  });
});

describe('the command line', () => {
  /** Of the built command. */
  function run(...args: string[]) {
    const command = join(root, 'apps/lab/dist/reproduce.js');
    const { status, stdout, stderr } = spawnSync(process.execPath, [command, ...args], { encoding: 'utf8' });
    return { status, stdout, stderr };
  }

  it('ends with 1, and names the cause, where the disk of standard output is full', () => {
    const full = openSync('/dev/full', 'w');
    const command = join(root, 'apps/lab/dist/reproduce.js');
    const { stderr, status } = spawnSync(process.execPath, [command, '--help'], {
      encoding: 'utf8',
      stdio: ['ignore', full, 'pipe'],
    });
    closeSync(full);
    expect(stderr).toBe('error ENOSPC: cannot write standard output: no space left on device\n');
    expect(status).toBe(1);
  });

  it('takes several figures', () => {
    const { figures } = reproduceOptions(['--figure', 'rdmc-4,rdmc-5', '--figure', 'tailwind-7']);
    expect(figures!.map(({ id }) => id)).toEqual(['rdmc-4', 'rdmc-5', 'tailwind-7']);
  });

  it('refuses a figure that does not exist with status 2, and lists the ids', () => {
    const { status, stderr } = run('--figure', 'rdmc-99');
    expect(status).toBe(2);
    expect(stderr).toContain('error ERR_RDMC_UNKNOWN_FIGURE');
    expect(stderr).toContain('tailwind-13');
  });

  it('refuses a way that none of the figures has, and names those that they have', () => {
    const of = (...args: string[]) => thrown(() => reproduceOptions(args));
    expect(of('--way', 'simulate')).toEqual(refusal('ERR_RDMC_LAB_OPTION'));
    expect(of('--figure', 'rdmc-8', '--way', 'measured')).toMatchObject({
      message: expect.stringContaining(
        'there are: netlab-predicted, netlab, netlab-10-predicted, netlab-10, simulated',
      ),
    });
    expect(reproduceOptions(['--figure', 'rdmc-4,rdmc-8', '--way', 'recorded']).way).toBe('recorded');
  });

  it('refuses an unknown option with status 2', () => {
    expect(run('--figures')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('ERR_RDMC_LAB_OPTION'),
    });
  });

  it('lists every figure with what is recorded', () => {
    const folder = temporaryDirectory('lab');
    writeRecord(folder, RECORD);
    const { status, stdout } = run('--list', '--out', folder);
    expect(status).toBe(0);
    expect(stdout).toMatch(/rdmc-8 .*\n( +netlab.*\n)+ +simulated: predicted, recorded 2026-11-23/);
    expect(stdout).toMatch(
      /hipower-5a .*\n +simulated: calibrated, not recorded yet.*\n +measured: measured, not recorded yet/,
    );
  });

  it('names a record of another version before it runs anything', () => {
    const folder = temporaryDirectory('lab');
    writeFileSync(join(folder, 'rdmc-8.simulated.json'), JSON.stringify({ ...RECORD, version: 2 }));
    const { status, stderr } = run('--figure', 'hipower-6c', '--out', folder);
    expect(status).toBe(1);
    expect(stderr).toContain('error ERR_RDMC_RECORD_VERSION: rdmc-8.simulated.json has version 2');
  });
});
