// The tests on RDMA devices: RDMC_TEST_DEVICE=rxe0,rxe1,rxe2,rxe3 node --test-reporter=spec dist/device.js
// With arguments only these parts: bad-input, commands, compliance, groups, hipower, hipower-losses, loss-of-members,
// packet-loss, paramserver.
import { describe } from 'node:test';
import { badInput } from './bad-input.js';
import { commands } from './commands.js';
import { compliance } from './compliance.js';
import { groups } from './groups.js';
import { hipower } from './hipower.js';
import { hipowerLosses } from './hipower-losses.js';
import { lossOfMembers } from './loss-of-members.js';
import { packetLoss } from './packet-loss.js';
import { paramserver } from './paramserver.js';

const PARTS: Readonly<Record<string, () => void>> = {
  groups,
  hipower,
  'hipower-losses': hipowerLosses,
  paramserver,
  'loss-of-members': lossOfMembers,
  'packet-loss': packetLoss,
  'bad-input': badInput,
  commands,
  compliance,
};

const asked = process.argv.slice(2);
const unknown = asked.find((name) => !Object.hasOwn(PARTS, name));
if (unknown !== undefined) {
  console.error(`No part ${unknown}; there are: ${Object.keys(PARTS).join(', ')}`);
  process.exit(2);
}
for (const name of asked.length > 0 ? asked : Object.keys(PARTS)) {
  // The time of a part is that of its suite in the report.
  describe(name, PARTS[name]!);
}
