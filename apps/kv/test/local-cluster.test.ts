/** The clusters that `kv bench` and `kv demo` start leave no processes and no directories. */
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Deferred } from '@rdmc/common';
import { temporaryDirectory, until } from '@rdmc/testing';
import { beforeEach, expect, it, vi } from 'vitest';
import { type LocalCluster, withLocalCluster } from '../src/demo/processes.js';

let directory: string;
let command: string;

beforeEach(() => {
  directory = temporaryDirectory('kv-local-cluster');
  command = join(temporaryDirectory('kv-member'), 'member.mjs');
  vi.stubEnv('TMPDIR', directory);
  return () => vi.unstubAllEnvs();
});

/** The program of all members. */
function members(program: string): void {
  writeFileSync(command, program);
}

it('nothing is left of a cluster that does not start', async () => {
  members('process.exit(7);');
  const started = withLocalCluster({ servers: 1, command }, async () => {});
  await expect(started).rejects.toMatchObject({ code: 'ERR_RDMC_KV_PROCESS_DIED' });
  expect(readdirSync(directory)).toEqual([]);
});

it.each([
  ['while it starts', ''],
  ['while it is used', 'process.send({ ready: 7, serving: 1 });'],
])('nothing is left of a cluster that a signal ends %s', async (_, answer) => {
  const started = join(directory, 'started');
  members(`import { writeFileSync } from 'node:fs'; process.on('message', () => {}); ${answer}
    writeFileSync(${JSON.stringify(started)}, '');`);
  const inUse = new Deferred<void>();
  const use = withLocalCluster({ servers: 1, command }, () => {
    inUse.resolve();
    return new Promise(() => {});
  });
  await (answer === '' ? until(() => existsSync(started)) : inUse.promise);
  process.emit('SIGHUP', 'SIGHUP');
  await expect(use).rejects.toMatchObject({ code: 'ERR_RDMC_KV_INTERRUPTED', exitCode: 129 });
  expect(readdirSync(directory)).toEqual(['started']);
});

it('nothing is left of a cluster whose use fails', async () => {
  members('process.send({ ready: 7, serving: 1 }); process.on("message", () => {});');
  let seen: LocalCluster | undefined;
  const use = withLocalCluster({ servers: 2, command }, async (cluster) => {
    seen = cluster;
    expect(cluster.ports).toEqual([7, 7]);
    expect(readdirSync(directory)).toHaveLength(1);
    throw new Error('for the test');
  });
  await expect(use).rejects.toThrow('for the test');
  expect(readdirSync(directory)).toEqual([]);
  expect([seen!.coordinator, ...seen!.servers].map(({ exit }) => exit)).toEqual(
    Array(3).fill('signal SIGKILL'),
  );
});
