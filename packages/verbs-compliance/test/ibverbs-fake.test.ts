import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { RDMA_DEVICE } from '@rdmc/verbs-compliance';
import * as vitest from 'vitest';
import { defineSuite } from './suites.js';

// The ibverbs device on a libibverbs whose devices connect to each other within one process.
const build = fileURLToPath(new URL('../../verbs/test/native/fake-ibverbs/build.mjs', import.meta.url));
const library = spawnSync(process.execPath, [build], { encoding: 'utf8' });

if (library.status === 0) {
  // Before the worker of the second placement starts: it inherits the environment. RDMC_TEST_LONG=1 runs all its chapters.
  process.env.RDMC_IBVERBS_LIBRARY = library.stdout.trim();
  for (const placement of ['thread', 'worker'] as const) {
    const device = { options: { device: 'fake0' } };
    defineSuite({ name: 'ibverbs on a fake', features: RDMA_DEVICE, placement, device });
  }
} else {
  vitest.it('the fake libibverbs is built, if it can be', () => {
    vitest.expect(library.status, library.stderr).toBe(2);
  });
  vitest.it.skip(
    `ibverbs on a fake [skipped: install g++ and libibverbs-dev; ${library.stderr.trim()}]`,
    () => undefined,
  );
}
