// Hybrid, pure polling and pure interrupts compared: bandwidth and processor time (RDMC, DSN 2018, figure 11).
import { Cluster } from '../multicast/cluster.mjs';
import { ON_RXE } from './multicast.mjs';
import { alternating, busySeconds, MIB, median } from './tools.mjs';

const SIZE = 4 * MIB;
const WINDOWS = { 'hybrid (50 ms)': 50, polling: Number.POSITIVE_INFINITY, interrupts: 0 };
async function measure(windowMs) {
  const cluster = await Cluster.start(ON_RXE.devices.length, { ...ON_RXE, windowMs, allocateBytes: SIZE });
  await cluster.open({ id: 1, algorithm: 'binomial-pipeline', warm: true });
  await cluster.multicast(SIZE);
  const before = busySeconds();
  const ms = [];
  for (let i = 0; i < 3; i += 1) ms.push(await cluster.multicast(SIZE));
  const busy = (busySeconds() - before) / 3;
  const members = (await cluster.usage()).reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0);
  await cluster.close();
  await cluster.stop();
  return { mibPerSecond: (3 * SIZE) / MIB / (median(ms) / 1000), busy, members };
}

export async function window() {
  const rivals = Object.entries(WINDOWS).map(([name, windowMs]) => [name, () => measure(windowMs)]);
  const results = await alternating(Object.fromEntries(rivals));
  for (const [name, runs] of Object.entries(results)) {
    const of = (field, digits) => {
      const values = runs.map((run) => run[field]);
      return `${median(values).toFixed(digits)} (${values.map((value) => value.toFixed(digits)).join(' ')})`;
    };
    console.log(
      `${name}: ${of('mibPerSecond', 1)} MiB/s delivered in all; per multicast of 4 MiB to four, processor seconds: ` +
        `${of('busy', 2)} of the machine, ${of('members', 2)} of the members`,
    );
  }
}
