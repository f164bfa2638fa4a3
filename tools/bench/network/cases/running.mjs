// The whole command `rdmc cast`, from its start to its end, while receivers already run: one file to n - 1 hosts, with
// messages of several sizes, beside a plain stream and an `nc | tee` chain.
import { rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { haveCast, runningCast } from '../rivals/cast.mjs';
import { chainFile, fileAt } from '../rivals/chain.mjs';
import { byTurns, comparisonRows, have, MIB } from '../tools.mjs';
import { filesFor, foldersFor, withLab } from '../with-lab.mjs';

/** Names and options of the casts: the default size of messages, or each of those that are asked for. */
function castsOf(messages, encrypt) {
  const options = encrypt ? [] : ['--no-encrypt'];
  if (messages === undefined) return [{ name: 'rdmc cast', options }];
  return messages.map((mib) => ({
    name: `rdmc cast, ${mib} MiB messages`,
    options: [...options, '--message-size', `${mib}MiB`],
  }));
}

/** The contestants. Every cast runs once beforehand, so that no round pays for the first cast of a receiver. */
async function contestants(lab, hosts, bytes, { files, chained, running, casts, only, install }) {
  const wanted = (name) => only === undefined || only.includes(name);
  const received = (folder) => join(folder, basename(files.source));
  const list = new Map([['stream', async () => (await lab.goodput(hosts[0], hosts[1], bytes)).seconds]]);
  for (const { name, options } of running ? casts : []) {
    const run = async () => {
      for (const host of hosts.slice(1)) rmSync(received(files.folderOf(host)), { force: true });
      const seconds = await running.cast(files.source, options);
      files.check(received);
      return seconds;
    };
    await run();
    list.set(name, run);
  }
  if (wanted('chain') && have(['nc'], { install })) {
    list.set('nc chain', async () => {
      chained.fresh();
      const { seconds } = await chainFile(lab, hosts, files.source, chained.folderOf);
      files.check((_, host) => fileAt(chained.folderOf(host)));
      chained.fresh();
      return seconds;
    });
  }
  return list;
}

function compare(n, mib, { rate, rounds, messages, encrypt, only, install }) {
  const bytes = mib * MIB;
  return withLab({ hosts: n, rate }, async (lab, hosts) => {
    const files = filesFor(hosts, bytes);
    const chained = foldersFor(hosts);
    const takesPart = (only === undefined || only.includes('cast')) && haveCast();
    const running = takesPart ? await runningCast(lab, hosts, files.folderOf) : undefined;
    try {
      const casts = castsOf(messages, encrypt);
      const list = await contestants(lab, hosts, bytes, { files, chained, running, casts, only, install });
      return comparisonRows(n, mib, await byTurns(list, rounds));
    } finally {
      await running?.end();
      files.remove();
      chained.remove();
    }
  });
}

export async function running(options) {
  const { members = [4, 8], mib = [64, 512] } = options;
  const rows = [];
  for (const size of mib) for (const n of members) rows.push(...(await compare(n, size, options)));
  return rows;
}
