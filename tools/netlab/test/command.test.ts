import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { temporaryDirectory } from '@rdmc/testing';
import { expect, test } from 'vitest';
import { collectGarbage, createLab, findLabs } from '../src/index.js';
import { labTest } from './needs.js';

// These run the command as it is installed: build first.
const BIN = fileURLToPath(new URL('../bin/', import.meta.url));
const NETLAB = join(BIN, 'netlab');
const RSH = join(BIN, 'netlab-rsh');
const FIXTURE = fileURLToPath(new URL('fixtures/holds-a-lab.mjs', import.meta.url));

function netlab(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(NETLAB, args, { encoding: 'utf8' });
  return { status, stdout, stderr };
}

/** The first line a child prints. */
async function firstLine(child: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: child.stdout! })) return line;
  throw new Error('it printed nothing');
}

const present = (name: string) => findLabs().some((lab) => lab.name === name);

test('help shows the usage, and mistakes are usage errors with advice', () => {
  const help = netlab('--help');
  expect(help.status).toBe(0);
  for (const word of [
    'run',
    'shell',
    'up',
    'exec',
    'down',
    'gc',
    'slow',
    'goodput',
    '--uplink',
    'netlab-rsh',
  ]) {
    expect(help.stdout).toContain(word);
  }
  expect(netlab('frobnicate')).toMatchObject({ status: 2, stderr: expect.stringContaining('netlab --help') });
  expect(netlab('run', '--frob')).toMatchObject({ status: 2, stderr: expect.stringContaining('--frob') });
  expect(netlab()).toMatchObject({ status: 2, stderr: expect.stringContaining('no command given') });
});

labTest('run: outside the hosts, inside one or each; environment and exit code', async () => {
  const outside = netlab(
    'run',
    '--hosts',
    'a,b',
    '--',
    'sh',
    '-c',
    'echo $NETLAB_HOSTS $NETLAB_ADDRESSES; exit 7',
  );
  expect(outside).toMatchObject({ status: 7, stdout: 'a b 10.77.0.1 10.77.0.2\n' });
  expect(netlab('run', '--hosts', 'a,b', '--on', 'b', '--', 'hostname').stdout).toBe('b\n');
  const each = netlab('run', '--hosts', '3', '--each', '--', 'hostname');
  expect(each.stdout.trim().split('\n').sort()).toEqual(['h0', 'h1', 'h2']);
  expect(netlab('run', '--hosts', '2')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('no command'),
  });
});

labTest('up, exec, slow, list, down: a lab that outlives the command', async () => {
  const lab = `up-${process.pid}`;
  try {
    expect(netlab('up', '--name', lab, '--hosts', '2', '--rate', '50mbit').stdout).toContain('10.77.0.2');
    expect(netlab('exec', '--lab', lab, 'h1', '--', 'hostname').stdout).toBe('h1\n');
    expect(netlab('slow', '--lab', lab, 'h1', '10mbit').status).toBe(0);
    expect(netlab('exec', '--lab', lab, 'h1', '--', 'tc', 'qdisc').stdout).toContain('10Mbit');
    const goodput = netlab('goodput', '--lab', lab, 'h0', 'h1', '1').stdout;
    expect(Number(/: ([\d.]+) Mbit/.exec(goodput)?.[1])).toBeLessThan(15);
    collectGarbage();
    expect(netlab('list').stdout).toContain(`${lab}: detached`);
    expect(netlab('exec', '--lab', lab, 'h9', '--', 'true')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('ERR_RDMC_NETLAB_NO_HOST'),
    });
  } finally {
    expect(netlab('down', '--lab', lab).status).toBe(0);
  }
  expect(netlab('down', '--lab', lab)).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('ERR_RDMC_NETLAB_NO_LAB'),
  });
});

labTest('netlab-rsh behaves as ssh', async () => {
  await using lab = await createLab({ hosts: ['left', 'right'] });
  const rsh = (args: string[], input = '', env = {}) =>
    spawnSync(RSH, args, { encoding: 'utf8', input, env: { ...process.env, NETLAB: lab.name, ...env } });
  expect(rsh(['-x', '-p', '22', '-o', 'BatchMode=yes', 'root@right', 'hostname']).stdout).toBe('right\n');
  expect(rsh(['10.77.0.1', 'hostname;', 'echo', '$NETLAB_HOST', '"a  b"']).stdout).toBe('left\nleft a  b\n');
  expect(rsh(['fd77::2', '--', 'hostname']).stdout).toBe('right\n');
  const homes = temporaryDirectory('netlab-homes');
  const home = rsh(['left', 'pwd; echo $HOME'], '', { NETLAB_HOMES: homes });
  expect(home.stdout).toBe(`${join(homes, 'left')}\n`.repeat(2));
  expect(rsh(['left', 'cat; exit 9'], 'through')).toMatchObject({ status: 9, stdout: 'through' });
  expect(rsh(['middle', 'true'])).toMatchObject({
    status: 255,
    stderr: expect.stringContaining('left right'),
  });
  const without = spawnSync(RSH, ['left', 'true'], { encoding: 'utf8', env: { PATH: process.env.PATH } });
  expect(without).toMatchObject({ status: 255, stderr: expect.stringContaining('NETLAB is not set') });
});

labTest(
  'a process that ends in any way leaves nothing behind; after SIGKILL gc removes the lab',
  async () => {
    const start = (how: string) => {
      const child = spawn(process.execPath, [FIXTURE, how], { stdio: ['ignore', 'pipe', 'inherit'] });
      return { child, exited: once(child, 'exit') };
    };
    for (const how of ['SIGINT', 'SIGTERM', 'SIGHUP', 'exit']) {
      const { child, exited } = start(how);
      const name = await firstLine(child);
      if (how.startsWith('SIG')) {
        expect(present(name), how).toBe(true);
        child.kill(how as NodeJS.Signals);
        expect(await exited, how).toEqual([null, how]);
      }
      await exited;
      expect(present(name), how).toBe(false);
    }
    const { child, exited } = start('SIGKILL');
    const name = await firstLine(child);
    child.kill('SIGKILL');
    await exited;
    expect(findLabs().find((lab) => lab.name === name)?.state).toBe('orphan');
    expect(netlab('gc').stdout).toContain(`removed ${name}`);
    expect(present(name)).toBe(false);
    expect(existsSync(`/etc/netns/netlab.${name}.h0`)).toBe(false);
  },
);

labTest('gc does not touch labs in use', async () => {
  await using lab = await createLab({ hosts: 1 });
  expect(netlab('gc').stdout).not.toContain(lab.name);
  expect(present(lab.name)).toBe(true);
});

labTest('without root: an error that says so', async () => {
  const done = spawnSync(
    'setpriv',
    ['--reuid', '65534', '--clear-groups', process.execPath, NETLAB, 'check'],
    {
      encoding: 'utf8',
    },
  );
  expect(done).toMatchObject({ status: 1, stderr: expect.stringContaining('ERR_RDMC_NETLAB_NOT_ROOT') });
});

labTest('a missing tool is named with its package', async () => {
  const { NetlabError } = await import('../src/index.js');
  const { requireTools } = await import('../src/tools.js');
  expect(() => requireTools(['/no/such/folder'])).toThrow(NetlabError);
  expect(() => requireTools(['/no/such/folder'])).toThrow(/apt-get install iproute2/);
});
