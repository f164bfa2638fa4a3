// The suite needs a test runner and brings none: here Node's own. With vitest, pass `* as vitest` instead.
import { after, afterEach, before, describe, it } from 'node:test';
import { defineComplianceSuite, SOFT_SHM } from '@rdmc/verbs-compliance';

const runner = { describe, it, beforeAll: before, afterAll: after, afterEach };

for (const placement of ['thread', 'process']) {
  defineComplianceSuite(
    {
      name: 'soft/shm',
      // What the device can do; tests of what it cannot are skipped, and their titles say so.
      features: SOFT_SHM,
      // Where the second of the two peers runs.
      placement,
      // How each peer opens the device: options of openDevice.
      device: { options: { device: 'soft', transport: 'shm' } },
      // Leave this out to run everything.
      chapters: ['opcodes', 'signalling'],
    },
    runner,
  );
}

process.on('exit', (code) => {
  console.log(code === 0 ? 'soft/shm passed these chapters' : 'soft/shm failed');
});
