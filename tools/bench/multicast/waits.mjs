// How threads wait: bandwidth, and processors of each member, with polling, with interrupts, and with the hybrid of both.
import { cpuOf, PARTS } from '../processor.mjs';
import { Cluster, median } from './cluster.mjs';

const MODES = [
  { name: 'polling', windowMs: Number.MAX_SAFE_INTEGER },
  { name: 'hybrid', windowMs: 50 },
  { name: 'interrupts', windowMs: 0 },
];
/** The sizes of the paper. So many messages, one after the other, take about a second. */
const SIZES = [
  { byteLength: 1e8, messages: 8 },
  { byteLength: 1e6, messages: 300 },
  { byteLength: 1e4, messages: 3000 },
];
const TURNS = 3;
const round3 = (value) => Math.round(value * 1000) / 1000;

/** One run: gigabits per second, the skew of the last message, and the processors that a member takes in the mean, by part. */
async function run(cluster, { byteLength, messages }) {
  await cluster.multicast(byteLength, Math.ceil(messages / 4));
  const before = cpuOf(cluster.pids);
  const began = performance.now();
  const ms = await cluster.multicast(byteLength, messages);
  const seconds = (performance.now() - began) / 1000;
  const after = cpuOf(cluster.pids);
  const perMember = PARTS.map((part) => [part, (after[part] - before[part]) / seconds / cluster.size]);
  const gbitPerSecond = (8 * byteLength * messages) / ms / 1e6;
  return { gbitPerSecond, skewMs: cluster.skews.at(-1), ...Object.fromEntries(perMember) };
}

/** Medians of the turns, for each number of members, way to wait and size. */
export async function waits({ members, transport, say }) {
  const found = new Map();
  for (let turn = 0; turn < TURNS; turn += 1) {
    for (const n of members) {
      for (const { name, windowMs } of MODES) {
        const cluster = await Cluster.start(n, { transport, windowMs, allocateBytes: SIZES[0].byteLength });
        await cluster.open({ id: 1, algorithm: 'binomial-pipeline', blockBytes: 'auto', warm: true });
        for (const size of SIZES) {
          const key = `${n} ${name} ${size.byteLength}`;
          found.set(key, [...(found.get(key) ?? []), await run(cluster, size)]);
          say(`${key}: ${JSON.stringify(found.get(key).at(-1))}`);
        }
        await cluster.close();
        await cluster.stop();
      }
    }
  }
  return [...found].map(([key, runs]) => {
    const [n, mode, byteLength] = key.split(' ');
    const columns = ['gbitPerSecond', 'skewMs', ...PARTS];
    const medians = columns.map((name) => [name, round3(median(runs.map((each) => each[name])))]);
    return { n: Number(n), mode, byteLength: Number(byteLength), ...Object.fromEntries(medians) };
  });
}
