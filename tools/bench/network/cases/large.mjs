// One large object to n hosts, beside everything that could do it, all rivals by turns in one lab.
import { basename, join } from 'node:path';
import { cast, haveCast } from '../rivals/cast.mjs';
import { chainFile, fileAt } from '../rivals/chain.mjs';
import * as mpi from '../rivals/mpi.mjs';
import { relayChain } from '../rivals/relay.mjs';
import { udpcast } from '../rivals/udpcast.mjs';
import { byTurns, comparisonRows, have, MIB, median, relayLabel } from '../tools.mjs';
import { filesFor, withCluster } from '../with-lab.mjs';

/** Size in MiB and numbers of hosts of the whole comparison. */
const WHOLE = [
  { mib: 64, members: [2, 4, 8, 16] },
  { mib: 8, members: [2, 4, 8, 16] },
  { mib: 256, members: [16] },
];

/** Who takes part: a name and what one round takes, in seconds. `skews` gets the list of skews of each group and of casts, by name. */
async function contestants({
  rate,
  lab,
  hosts,
  bytes,
  only,
  install,
  cluster,
  algorithms,
  windows,
  relays,
  blockBytes,
  files,
  few,
  skews,
}) {
  const wanted = (name) => only === undefined || only.includes(name);
  const list = new Map();
  list.set('stream', async () => (await lab.goodput(hosts[0], hosts[1], bytes)).seconds);
  if (wanted('rdmc')) {
    const kinds = algorithms.flatMap((algorithm) =>
      windows.flatMap((each) => relays.map((relay) => ({ algorithm, relay, ...each }))),
    );
    for (const [index, { algorithm, label, ...options }] of kinds.entries()) {
      const name = `rdmc ${algorithm}${label}${relayLabel(options.relay)}`;
      const group = await cluster.open(index + 1, bytes, { algorithm, blockBytes, ...options });
      await cluster.warm(group, bytes);
      skews.set(name, group.skews);
      list.set(name, async () => {
        const seconds = await cluster.seconds(group, bytes);
        await cluster.verify(group, bytes);
        return seconds;
      });
    }
  }
  if (wanted('cast') && haveCast()) {
    const ofCasts = [];
    skews.set('rdmc cast, all of it', ofCasts);
    list.set('rdmc cast', async () => {
      files.fresh();
      const { seconds, sending, skew } = await cast(lab, hosts, files.source, files.folderOf);
      ofCasts.push(skew);
      files.check((folder) => join(folder, basename(files.source)));
      return { 'rdmc cast, once connected': sending, 'rdmc cast, all of it': seconds };
    });
  }
  if (wanted('chain') && have(['nc'], { install })) {
    list.set('nc chain', async () => {
      files.fresh();
      const { seconds } = await chainFile(lab, hosts, files.source, files.folderOf);
      files.check(fileAt);
      return seconds;
    });
  }
  if (wanted('relay') && have(['cc'], { install })) {
    list.set('C relay', async () => (await relayChain(lab, hosts, bytes)).seconds);
  }
  if (wanted('udpcast') && have(['udp-sender'], { install })) {
    list.set('udpcast', async () => {
      files.fresh();
      const { seconds } = await udpcast(lab, hosts, files.source, files.folderOf, { rate });
      files.check(fileAt);
      return seconds;
    });
  }
  if (wanted('mpi') && have(['mpirun', 'mpicc'], { install })) {
    list.set('mpi default', async () => median(await mpi.broadcast(lab, hosts, bytes)));
    const candidate = await mpi.best(lab, hosts, bytes, { few });
    list.set(`mpi ${candidate.name}`, async () =>
      median(await mpi.broadcast(lab, hosts, bytes, { candidate })),
    );
  }
  return list;
}

/** One size and one n: every contestant once per round, by turns. */
function compare(n, mib, options) {
  const bytes = mib * MIB;
  return withCluster({ hosts: n, rate: options.rate }, async (cluster, lab, hosts) => {
    const files = filesFor(hosts, bytes);
    const skews = new Map();
    const list = await contestants({ ...options, lab, hosts, bytes, cluster, files, skews });
    const times = await byTurns(list, options.rounds);
    files.remove();
    return comparisonRows(n, mib, times, skews);
  });
}

export async function large(options) {
  const cases = options.mib
    ? options.mib.map((mib) => ({ mib, members: options.members ?? [2, 4, 8, 16] }))
    : WHOLE.map((each) => ({ ...each, members: options.members ?? each.members }));
  const rows = [];
  for (const { mib, members } of cases) {
    for (const n of members) rows.push(...(await compare(n, mib, options)));
  }
  return rows;
}
