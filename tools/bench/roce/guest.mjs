// What runs in the machine: each case prints a table. Rivals alternate, and numbers are medians of five runs.
import { bandwidth } from './bandwidth.mjs';
import { latency } from './latency.mjs';
import { multicast } from './multicast.mjs';
import { window } from './window.mjs';

const CASES = { bandwidth, latency, multicast, window };
const asked = process.argv.slice(2);
for (const name of asked.length > 0 ? asked : Object.keys(CASES)) {
  if (!Object.hasOwn(CASES, name))
    throw new Error(`no case ${name}; there are ${Object.keys(CASES).join(', ')}`);
  console.log(`\n${name}`);
  await CASES[name]();
}
