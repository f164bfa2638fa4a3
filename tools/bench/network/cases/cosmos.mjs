// A load like that of the paper's Figure 9: one generator, 15 other hosts, 455 overlapping groups of the generator and three of
// them, all open at once. Sizes and blocks are divided by 64, so that links of two cores carry them. Each algorithm in a lab of
// its own, because a host has at most 1,024 groups.
import { allGroups, cosmosLoad } from '@rdmc/lab';
import { MIB, median, round3, say } from '../tools.mjs';
import { withCluster } from '../with-lab.mjs';

const HOSTS = 16;
const SCALE = 64;
const BLOCK_BYTES = MIB / SCALE;
const PERCENTILES = [1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99];
/** Groups that are created at once. */
const AT_ONCE = 16;
const OBJECTS_PER_ROUND = 100;

/** Opens every group; the regions are shared by the groups of a member. Resolves with the groups by their members. */
async function openAll(cluster, algorithm, bytes) {
  const all = new Map();
  const waiting = allGroups();
  for (let first = 0; first < waiting.length; first += AT_ONCE) {
    const some = waiting.slice(first, first + AT_ONCE);
    const options = { algorithm, blockBytes: BLOCK_BYTES, shared: true };
    const opened = await Promise.all(
      some.map((members, index) => cluster.open(first + index + 1, bytes, { ...options, members })),
    );
    for (const group of opened) all.set(group.members.join(), group);
  }
  return all;
}

/** Pairs of a percentage and the value that so many do not exceed. */
function percentilesOf(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (percent) => sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))];
  return PERCENTILES.map((percent) => [percent, round3(at(percent))]);
}

async function one(algorithm, objects, rate) {
  const load = objects.map(({ members, byteLength }) => ({
    members,
    bytes: Math.max(1, Math.round(byteLength / SCALE)),
  }));
  const most = Math.max(...load.map(({ bytes }) => bytes));
  return withCluster({ hosts: HOSTS, rate }, async (cluster) => {
    const began = performance.now();
    const groups = await openAll(cluster, algorithm, most);
    const formed = (performance.now() - began) / 1000;
    const times = [];
    let total = 0;
    const started = performance.now();
    for (const { members, bytes } of load) {
      const group = groups.get(members.join());
      const run = await cluster.multicast(group, bytes);
      times.push(run.ended - run.started);
      total += bytes;
    }
    const seconds = (performance.now() - started) / 1000;
    const usage = await cluster.usage();
    const skews = [...groups.values()].flatMap((group) => group.skews);
    const row = {
      name: algorithm,
      groups: groups.size,
      objects: times.length,
      mean: round3(times.reduce((sum, time) => sum + time, 0) / times.length),
      percentiles: percentilesOf(times),
      skew: round3(median(skews)),
      skewPercentiles: percentilesOf(skews),
      'Mbit/s': round3((total * 8) / 1e6 / seconds),
      formed: round3(formed),
      'largest MiB': round3(Math.max(...usage.map(({ maxRssMiB }) => maxRssMiB))),
      'all MiB': Math.round(usage.reduce((sum, { maxRssMiB }) => sum + maxRssMiB, 0)),
      'all PSS MiB': Math.round(usage.reduce((sum, { pssMiB }) => sum + pssMiB, 0)),
    };
    say(JSON.stringify(row));
    return row;
  });
}

export async function cosmos({ rate, algorithms, rounds }) {
  const objects = cosmosLoad(rounds * OBJECTS_PER_ROUND);
  const rows = [];
  for (const algorithm of algorithms) rows.push(await one(algorithm, objects, rate));
  return rows;
}
