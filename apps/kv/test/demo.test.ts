/** The command, as processes: needs the built dist. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { noEtcd } from '@rdmc/testing/etcd';
import { expect, it } from 'vitest';

const command = fileURLToPath(new URL('../dist/main.js', import.meta.url));

/** Beside two runs of all tests and two busy loops, the others needed two minutes to hand the slots over. */
const LIMIT_MS = 900_000;

/** It needs 12 s of a processor, and its parts are tested one by one: `npm run test:smoke` runs it for every push. */
it.skipIf(!process.env.RDMC_TEST_LONG)(
  'kv demo: a server and the coordinator killed with -9 under load lose nothing that was acknowledged: needs RDMC_TEST_LONG=1',
  {
    timeout: LIMIT_MS,
  },
  () => {
    const args = [command, 'demo', '--keys', '1000', '--json'];
    const { stdout, stderr, status } = spawnSync(process.execPath, args, {
      encoding: 'utf8',
      timeout: LIMIT_MS,
    });
    expect(stderr).toBe('');
    expect(status).toBe(0);
    const result = JSON.parse(stdout);
    expect(result.acknowledged).toBeGreaterThanOrEqual(1000);
    expect(result.duringTheKill + result.unknown).toBe(2000);
    expect(result.entries).toBeGreaterThan(0);
    expect(result.returned.slots).toBeGreaterThan(3000);
    expect(result.coordinator.hasStandby).toBe(noEtcd === false);
  },
);
