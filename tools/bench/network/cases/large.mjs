// One large object to n hosts, beside everything that could do it, all rivals by turns in one lab.
import { mkdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { createLab } from '@rdmc/netlab';
import { Cluster } from '../cluster.mjs';
import { digest, makeFile } from '../files.mjs';
import { cast, haveCast } from '../rivals/cast.mjs';
import { chainFile, fileAt } from '../rivals/chain.mjs';
import * as mpi from '../rivals/mpi.mjs';
import { have, MIB, median, round3, say, scratch } from '../tools.mjs';

/** Size in MiB and numbers of hosts of the whole comparison. */
const WHOLE = [
  { mib: 64, members: [2, 4, 8, 16] },
  { mib: 8, members: [2, 4, 8, 16] },
  { mib: 256, members: [16] },
];

/** A file in memory, and an empty folder for each host, made anew for each round. */
function filesFor(hosts, bytes) {
  const folder = scratch('large');
  const source = join(folder.path, 'source');
  makeFile(source, bytes);
  const folderOf = (host) => join(folder.path, host);
  const fresh = () => {
    for (const host of hosts) {
      rmSync(folderOf(host), { recursive: true, force: true });
      mkdirSync(folderOf(host));
    }
  };
  const check = async (nameOf) => {
    const wanted = await digest(source);
    for (const host of hosts.slice(1)) {
      if ((await digest(nameOf(folderOf(host)))) !== wanted) throw new Error(`${host} has another file`);
    }
  };
  return { source, folderOf, fresh, check, remove: folder.remove };
}

/** Who takes part: a name and what one round takes, in seconds. */
async function contestants({
  lab,
  hosts,
  bytes,
  only,
  install,
  cluster,
  algorithms,
  blockSizeBytes,
  files,
  few,
}) {
  const wanted = (name) => only === undefined || only.includes(name);
  const list = new Map();
  list.set('stream', async () => (await lab.goodput(hosts[0], hosts[1], bytes)).seconds);
  if (wanted('rdmc')) {
    for (const [index, algorithm] of algorithms.entries()) {
      const group = await cluster.open(index + 1, bytes, { algorithm, blockSizeBytes });
      await cluster.seconds(group, Math.min(bytes, MIB));
      list.set(`rdmc ${algorithm}`, async () => {
        const seconds = await cluster.seconds(group, bytes);
        await cluster.verify(group, bytes);
        return seconds;
      });
    }
  }
  if (wanted('cast') && haveCast()) {
    list.set('rdmc cast', async () => {
      files.fresh();
      const { seconds } = await cast(lab, hosts, files.source, files.folderOf);
      await files.check((folder) => join(folder, basename(files.source)));
      return seconds;
    });
  }
  if (wanted('chain') && have(['nc'], { install })) {
    list.set('nc chain', async () => {
      files.fresh();
      const seconds = await chainFile(lab, hosts, files.source, files.folderOf);
      await files.check(fileAt);
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
async function compare(n, mib, options) {
  const bytes = mib * MIB;
  const lab = await createLab({ hosts: n, rate: options.rate });
  const hosts = lab.hosts.map((host) => host.name);
  const files = filesFor(hosts, bytes);
  const cluster = await Cluster.start(lab, hosts);
  try {
    const list = await contestants({ ...options, lab, hosts, bytes, cluster, files });
    const times = new Map([...list.keys()].map((name) => [name, []]));
    for (let round = 0; round < options.rounds; round += 1) {
      for (const [name, run] of list) times.get(name).push(await run());
    }
    await cluster.stop();
    return rowsOf(n, mib, times);
  } finally {
    files.remove();
    await lab.destroy();
  }
}

function rowsOf(n, mib, times) {
  const stream = median(times.get('stream'));
  const nc = times.has('nc chain') ? median(times.get('nc chain')) : undefined;
  return [...times].map(([name, all]) => {
    const seconds = median(all);
    const row = {
      MiB: mib,
      n,
      name,
      seconds: round3(seconds),
      least: round3(Math.min(...all)),
      most: round3(Math.max(...all)),
      toStream: round3(seconds / stream),
      toChain: nc && round3(seconds / nc),
    };
    say(JSON.stringify(row));
    return row;
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
