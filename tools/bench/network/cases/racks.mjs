// 4 racks of 4 hosts, each rack behind one uplink as fast as a single host's link: hybrid, which crosses it once for
// each rack, beside the flat schedules, which know nothing of racks.
import { inTurn, MIB, median, round3, say } from '../tools.mjs';
import { withCluster } from '../with-lab.mjs';

const RACKS = 4;

/** Members as somebody would list them who knows nothing of racks: the first of each, the second of each, ... */
const dealt = (hosts) =>
  Array.from(
    { length: hosts.length },
    (_, index) => (index % RACKS) * (hosts.length / RACKS) + Math.floor(index / RACKS),
  );

/** The schedules, each with every size of blocks. */
function kindsOf(hosts, rackOf, blockSizes, onlyRacks) {
  const order = { sorted: hosts.map((_, index) => index), dealt: dealt(hosts) };
  const knowing = [
    { name: 'hybrid', algorithm: 'hybrid', members: order.sorted, racks: order.sorted.map(rackOf) },
    { name: 'chain, by rack', algorithm: 'chain', members: order.sorted },
  ];
  const others = [
    { name: 'binomial-pipeline, by rack', algorithm: 'binomial-pipeline', members: order.sorted },
    { name: 'binomial-pipeline, any order', algorithm: 'binomial-pipeline', members: order.dealt },
    { name: 'chain, any order', algorithm: 'chain', members: order.dealt },
  ];
  const kinds = onlyRacks ? knowing : [...knowing, ...others];
  return kinds.flatMap((kind) =>
    blockSizes.map((blockBytes) => ({
      ...kind,
      blockBytes,
      name: blockBytes === 'auto' ? kind.name : `${kind.name}, ${blockBytes / 1024} KiB`,
    })),
  );
}

export async function racks({ members = [16], mib = [64], rate, rounds, blockSizes, onlyRacks }) {
  const rows = [];
  for (const n of members) {
    await withCluster({ hosts: n, racks: RACKS, rate, uplink: { rate } }, async (cluster, lab, hosts) => {
      const kinds = kindsOf(hosts, (member) => lab.hosts[member].rack, blockSizes, onlyRacks);
      for (const size of mib) {
        const bytes = size * MIB;
        let id = 1;
        const groups = await inTurn(kinds, ({ name, ...options }) => cluster.open(id++, bytes, options));
        const times = kinds.map(() => []);
        for (let round = 0; round < rounds; round += 1) {
          for (const [index, group] of groups.entries()) {
            times[index].push(await cluster.seconds(group, bytes));
            await cluster.verify(group, bytes);
          }
        }
        const hybrid = median(times[0]);
        for (const [index, { name }] of kinds.entries()) {
          const seconds = median(times[index]);
          rows.push({
            MiB: size,
            n,
            name,
            seconds: round3(seconds),
            skew: round3(median(groups[index].skews)),
            toHybrid: round3(seconds / hybrid),
          });
          say(JSON.stringify(rows.at(-1)));
        }
        for (const group of groups) await cluster.close(group);
      }
    });
  }
  return rows;
}
