/** The clusters that `kv bench` and `kv demo` start leave no processes and no directories. */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@rdmc/testing';
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
