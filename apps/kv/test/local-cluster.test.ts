/** The clusters that `kv bench` and `kv demo` start leave no processes and no directories. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Deferred } from '@rdmc/common';
import { temporaryDirectory, until } from '@rdmc/testing';
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
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
  // It goes on when its parent has ended: only the kill ends it.
  members(`import { appendFileSync } from 'node:fs'; setInterval(() => {}, 60_000);
    appendFileSync(${JSON.stringify(started)}, process.pid + '\\n'); ${answer}`);
  const pids = (): number[] =>
    existsSync(started) ? readFileSync(started, 'utf8').split('\n').slice(0, -1).map(Number) : [];
  const inUse = new Deferred<void>();
  const use = withLocalCluster({ servers: 1, command }, () => {
    inUse.resolve();
    return new Promise(() => {});
  });
  await (answer === '' ? until(() => pids().length === 2) : inUse.promise);
  onTestFinished(() => {
    for (const pid of pids().filter(isRunning)) process.kill(pid, 'SIGKILL');
  });
  process.emit('SIGHUP', 'SIGHUP');
  await expect(use).rejects.toMatchObject({ code: 'ERR_RDMC_KV_INTERRUPTED', exitCode: 129 });
  expect(readdirSync(directory)).toEqual(['started']);
  expect(pids().map(isRunning)).toEqual([false, false]);
});

it('nothing is left of a cluster that a signal ends while etcd starts', async () => {
  const started = join(directory, 'started');
  const path = join(directory, 'bin');
  mkdirSync(path);
  writeFileSync(join(path, 'etcd'), `#!/bin/sh\necho $$ > ${started}\nexec sleep 600\n`, { mode: 0o700 });
  vi.stubEnv('PATH', `${path}:${process.env.PATH}`);
  members('');
  const use = withLocalCluster({ servers: 1, command, hasStandby: true }, async () => {});
  await until(() => existsSync(started) && readFileSync(started, 'utf8').endsWith('\n'));
  const pid = Number(readFileSync(started, 'utf8'));
  onTestFinished(() => void (isRunning(pid) && process.kill(pid, 'SIGKILL')));
  // Otherwise the signal would end the process of the test.
  expect(process.listenerCount('SIGTERM')).toBeGreaterThan(0);
  process.emit('SIGTERM', 'SIGTERM');
  await expect(use).rejects.toMatchObject({ code: 'ERR_RDMC_KV_INTERRUPTED', exitCode: 143 });
  expect(isRunning(pid)).toBe(false);
  expect(readdirSync(directory).sort()).toEqual(['bin', 'started']);
});

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

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
