// One path between two members at half the rate (paper section 4.5): what is left of the bandwidth, beside the
// formula lT'/(T + (l - 1)T') and what the schedule itself says. The chain, which sends everything through it, beside. Groups with
// other windows take part by turns.
import { parseRate } from '@rdmc/netlab';
import { createSchedule, slowLinkBound, slowLinkFactor } from '@rdmc/schedule';
import { MIB, median, round3, say } from '../tools.mjs';
import { withCluster } from '../with-lab.mjs';

const RATIO = 0.5;
/** Neighbours in both schedules: they differ in one bit, and one follows the other. */
const [A, B] = [2, 3];

/** Groups of each algorithm with each of the windows: their names, and what they are created with. */
const kindsOf = ({ algorithms, windows }) =>
  algorithms.flatMap((algorithm) =>
    windows.map(({ label, ...each }) => ({ name: `${algorithm}${label}`, algorithm, windows: each })),
  );

export async function slowLink({ members = [4, 8, 16], mib = [64], rate, rounds, blockBytes, ...groupsOf }) {
  const rows = [];
  const kinds = kindsOf(groupsOf);
  const slowed = `${Math.round(parseRate(rate) * RATIO)}bit`;
  for (const n of members) {
    for (const size of mib) {
      const bytes = size * MIB;
      const times = await withCluster({ hosts: n, rate }, async (cluster, lab, hosts) => {
        const groups = [];
        for (const [index, { algorithm, windows }] of kinds.entries()) {
          // One group sends at a time, so a member needs one message of memory.
          const options = { algorithm, blockBytes, shared: true, ...windows };
          groups.push(await cluster.open(index + 1, bytes, options));
        }
        const found = kinds.map(() => ({ whole: [], slow: [], skews: [] }));
        for (let round = 0; round < rounds; round += 1) {
          for (const [path, pathRate] of [
            ['whole', undefined],
            ['slow', slowed],
          ]) {
            // Both ways through the same queues, so that only the rate differs.
            await lab.slowPath(hosts[A], hosts[B], pathRate);
            for (const [index, group] of groups.entries()) {
              found[index][path].push(await cluster.seconds(group, bytes));
              if (path === 'whole') found[index].skews.push(group.skews.at(-1));
              await cluster.verify(group, bytes);
            }
          }
        }
        return found;
      });
      for (const [index, { name, algorithm }] of kinds.entries()) {
        const [whole, slow] = [median(times[index].whole), median(times[index].slow)];
        const schedule = createSchedule({ algorithm, nodes: n, blocks: 64 });
        const pipeline = algorithm === 'binomial-pipeline';
        rows.push({
          MiB: size,
          n,
          name,
          seconds: round3(whole),
          skew: round3(median(times[index].skews)),
          slowed: round3(slow),
          kept: round3(whole / slow),
          formula: pipeline ? round3(slowLinkBound(n, RATIO)) : undefined,
          schedule: round3(slowLinkFactor(schedule, { a: A, b: B, ratio: RATIO })),
        });
        say(JSON.stringify(rows.at(-1)));
      }
    }
  }
  return rows;
}
