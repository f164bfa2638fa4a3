// The suite needs a test runner: here Node's own. With vitest, pass `* as vitest` instead.
import { after, afterEach, before, describe, it } from 'node:test';
import { defineComplianceSuite, SOFT_SHM } from '@rdmc/verbs-compliance';

const runner = { describe, it, beforeAll: before, afterAll: after, afterEach };

for (const placement of ['thread', 'process']) {
  defineComplianceSuite(
    {
      name: 'soft/shm',
      // The device's features; tests of missing features are skipped, with titles that say so.
      features: SOFT_SHM,
      // The placement of the second peer.
      placement,
      // How each peer opens the device: options of openDevice.
      device: { options: { device: 'soft', transport: 'shm' } },
      // Without this, all chapters run.
      chapters: ['opcodes', 'signalling'],
    },
    runner,
  );
}

process.on('exit', (code) => {
  console.log(code === 0 ? 'soft/shm passed these chapters' : 'soft/shm failed');
});
