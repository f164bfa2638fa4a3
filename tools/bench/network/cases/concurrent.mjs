// Groups with the same members and different roots at once (paper Figure 10): 1, n/2 and n senders. Bandwidth is
// what the members take in together; spread, how far apart the groups are.
import { rankOrders } from '@rdmc/lab';
import { parseRate } from '@rdmc/netlab';
import { inTurn, MIB, median, range, round3, say } from '../tools.mjs';
import { withCluster } from '../with-lab.mjs';

/** Of Apt in the paper: 16 of 56 Gbit/s are left for each member whose traffic goes to the other rack. */
const OVERSUBSCRIBED = 16 / 56;
const RACKS = 2;

/** The hosts; behind two shared uplinks if `oversubscribed`. */
function labOf(hosts, rate, oversubscribed) {
  if (!oversubscribed) return { hosts, rate };
  const uplink = Math.round((parseRate(rate) * OVERSUBSCRIBED * hosts) / RACKS);
  return { hosts, rate, racks: RACKS, uplink: { rate: `${uplink}bit` } };
}

/** All groups at once, each one message; seconds of each from the common start. */
async function together(cluster, groups, bytes) {
  for (const group of groups) await cluster.prepare(group, bytes);
  const runs = await Promise.all(groups.map((group) => cluster.multicast(group, bytes)));
  for (const group of groups) await cluster.verify(group, bytes);
  const first = Math.min(...runs.map((run) => run.started));
  return runs.map((run) => run.ended - first);
}

export async function concurrent({
  members = [4, 8, 16],
  mib = [16],
  rate,
  rounds,
  algorithms,
  blockBytes,
  oversubscribed,
}) {
  const rows = [];
  const algorithm = algorithms[0];
  for (const n of members) {
    await withCluster(labOf(n, rate, oversubscribed), async (cluster, lab, hosts) => {
      for (const size of mib) {
        const bytes = size * MIB;
        const stream = (await lab.goodput(hosts[0], hosts[1], bytes)).bitsPerSecond / 1e6;
        for (const senders of [...new Set([1, Math.ceil(n / 2), n])]) {
          const runs = [];
          const skews = [];
          // The lab fills one rack after the other.
          for (const order of oversubscribed ? rankOrders(n) : [range(n)]) {
            const groups = await inTurn(range(senders), (root) => {
              const members = range(n).map((index) => order[(root + index) % n]);
              return cluster.open(root + 1, bytes, { algorithm, blockBytes, members });
            });
            for (let round = 0; round < rounds; round += 1) runs.push(await together(cluster, groups, bytes));
            for (const group of groups) await cluster.close(group);
            skews.push(...groups.flatMap((group) => group.skews));
          }
          const seconds = median(runs.map((run) => Math.max(...run)));
          const spread = median(runs.map((run) => (Math.max(...run) - Math.min(...run)) / Math.max(...run)));
          // Every receiving link takes in all groups but its own.
          const megabits = (senders * (n - 1) * bytes * 8) / 1e6 / seconds;
          const most = (senders === n ? n : n - 1) * stream;
          rows.push({
            MiB: size,
            n,
            senders,
            seconds: round3(seconds),
            'Mbit/s in all': Math.round(megabits),
            'Mbit/s of messages': round3((senders * bytes * 8) / 1e6 / seconds),
            'of the links': round3(megabits / most),
            spread: round3(spread),
            skew: round3(median(skews)),
          });
          say(JSON.stringify(rows.at(-1)));
        }
      }
    });
  }
  return rows;
}
