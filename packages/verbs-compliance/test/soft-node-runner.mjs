// The suite on the soft device under Node's own test runner, for machines on which vitest does not run: emulated ones.
//   node test/soft-node-runner.mjs TRANSPORT PLACEMENT [CHAPTER...]
import { after, afterEach, before, describe, it } from 'node:test';
import { defineComplianceSuite, SOFT_SHM, SOFT_TCP } from '@rdmc/verbs-compliance';

const [transport, placement, ...chapters] = process.argv.slice(2);
const overTcp = transport === 'tcp';

defineComplianceSuite(
  {
    name: `soft/${transport}`,
    features: overTcp ? SOFT_TCP : SOFT_SHM,
    placement,
    device: { options: { device: 'soft', transport, ...(overTcp && { listen: { host: '127.0.0.1' } }) } },
    // The device detects the end of a process as an event: the limit is only for a test that hangs.
    peerDeathLimitMs: 180_000,
    ...(chapters.length > 0 && { chapters }),
  },
  { describe, it, beforeAll: before, afterAll: after, afterEach },
);
