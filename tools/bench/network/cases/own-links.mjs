// Members with links of their own on loopback (option `linkRate` of the soft device) beside the same members in hosts
// of a lab, whose links the kernel shapes: the same message, the same rate. `one copy` is to one receiver. CPU seconds
// are those of the members' processes; `unlimited` are the same members on loopback without a rate.
import { parseRate } from '@rdmc/netlab';
import { Cluster, onLoopback } from '../cluster.mjs';
import { inTurn, MIB, median, range, round3, say } from '../tools.mjs';
import { withLab } from '../with-lab.mjs';

const GIB = 1024 * MIB;
const ALGORITHMS = ['sequential', 'chain', 'binomial-tree', 'binomial-pipeline'];
const WARM_UP_BYTES = 4 * MIB;

/** Time, and CPU seconds per GiB and member, of one message. */
async function measured(cluster, group, bytes) {
  await cluster.prepare(group, bytes);
  const before = await cluster.usage();
  const { started, ended } = await cluster.multicast(group, bytes);
  const after = await cluster.usage();
  await cluster.verify(group, bytes);
  const cpu = group.members.reduce((sum, id) => sum + after[id].cpuSeconds - before[id].cpuSeconds, 0);
  return { seconds: ended - started, cpu: cpu / group.members.length / (bytes / GIB) };
}

async function openGroups(cluster, n, bytes, blockBytes) {
  const kinds = [
    { name: 'one copy', algorithm: 'chain', members: [0, 1] },
    ...ALGORITHMS.map((algorithm) => ({ name: algorithm, algorithm, members: range(n) })),
  ];
  return inTurn(kinds.entries(), async ([id, { name, ...options }]) => {
    const group = await cluster.open(id + 1, bytes, { ...options, blockBytes });
    await cluster.seconds(group, Math.min(bytes, WARM_UP_BYTES));
    return { name, group };
  });
}

/** Every group once a round, in each of these places by turns. */
async function rounds(places, count, bytes) {
  const found = new Map();
  for (let round = 0; round < count; round += 1) {
    for (const [place, { cluster, groups }] of Object.entries(places)) {
      for (const { name, group } of groups) {
        const key = `${place} ${name}`;
        found.set(key, [...(found.get(key) ?? []), await measured(cluster, group, bytes)]);
      }
    }
  }
  return (place, name, what) => median(found.get(`${place} ${name}`).map((each) => each[what]));
}

function rowsOf(n, mib, rate, of) {
  return ['one copy', ...ALGORITHMS].map((name) => {
    const [own, lab] = [of('own', name, 'seconds'), of('lab', name, 'seconds')];
    const row = {
      MiB: mib,
      n,
      name,
      own: round3(own),
      lab: round3(lab),
      'own/lab': round3(own / lab),
      'own × one copy': round3(own / of('own', 'one copy', 'seconds')),
      'lab × one copy': round3(lab / of('lab', 'one copy', 'seconds')),
      'own/rate': name === 'one copy' ? round3(own / ((mib * MIB * 8) / rate)) : undefined,
      'cpu s/GiB/member, own': round3(of('own', name, 'cpu')),
      'lab ': round3(of('lab', name, 'cpu')),
      'unlimited ': round3(of('unlimited', name, 'cpu')),
    };
    say(JSON.stringify(row));
    return row;
  });
}

export async function ownLinks({ members = [8], mib = [32], rate, rounds: count, blockBytes }) {
  const bitsPerSecond = parseRate(rate);
  const rows = [];
  for (const n of members) {
    for (const size of mib) {
      const bytes = size * MIB;
      await withLab({ hosts: n, rate }, async (lab, hosts) => {
        const names = range(n).map(String);
        const clusters = {
          own: await Cluster.start(onLoopback(bitsPerSecond), names),
          unlimited: await Cluster.start(onLoopback(undefined, n), names),
          lab: await Cluster.start(lab, hosts),
        };
        const places = {};
        for (const [place, cluster] of Object.entries(clusters))
          places[place] = { cluster, groups: await openGroups(cluster, n, bytes, blockBytes) };
        rows.push(...rowsOf(n, size, bitsPerSecond, await rounds(places, count, bytes)));
        for (const cluster of Object.values(clusters)) await cluster.stop();
      });
    }
  }
  return rows;
}
