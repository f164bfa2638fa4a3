// A folder of 20,000 small files to n - 1 hosts: rdmc cast beside tar through an `nc | tee` chain, which checks
// nothing, and the bytes themselves beside both.
import { basename, join } from 'node:path';
import { digestTree, makeTree } from '../files.mjs';
import { cast, haveCast } from '../rivals/cast.mjs';
import { chainTree } from '../rivals/chain.mjs';
import { byTurns, have, MIB, median, round3, say } from '../tools.mjs';
import { foldersFor, withLab } from '../with-lab.mjs';

const FILES = 20_000;

export async function smallFiles({ members = [2, 4, 8], rate, rounds, only, install }) {
  const wanted = (name) => only === undefined || only.includes(name);
  const rows = [];
  for (const n of members) {
    await withLab({ hosts: n, rate }, async (lab, hosts) => {
      const folders = foldersFor(hosts);
      const bytes = makeTree(folders.source, FILES);
      const right = digestTree(folders.source);
      const check = (place) => {
        for (const host of hosts.slice(1)) {
          if (digestTree(place(folders.folderOf(host))) !== right)
            throw new Error(`${host} has another folder`);
        }
      };
      const list = new Map([
        ['stream of as many bytes', async () => (await lab.goodput(hosts[0], hosts[1], bytes)).seconds],
      ]);
      if (wanted('cast') && haveCast()) {
        list.set('rdmc cast', async () => {
          folders.fresh();
          const { seconds, sending } = await cast(lab, hosts, folders.source, folders.folderOf);
          check((folder) => join(folder, basename(folders.source)));
          return { 'rdmc cast, once connected': sending, 'rdmc cast, all of it': seconds };
        });
      }
      if (wanted('chain') && have(['nc', 'tar'], { install })) {
        list.set('tar | nc chain', async () => {
          folders.fresh();
          const { seconds } = await chainTree(lab, hosts, folders.source, folders.folderOf);
          check((folder) => folder);
          return seconds;
        });
      }
      const times = await byTurns(list, rounds);
      folders.remove();
      for (const [name, all] of times) {
        const seconds = median(all);
        const tar = times.get('tar | nc chain');
        const toTar = tar && round3(seconds / median(tar));
        rows.push({ n, files: FILES, MiB: round3(bytes / MIB), name, seconds: round3(seconds), toTar });
        say(JSON.stringify(rows.at(-1)));
      }
    });
  }
  return rows;
}
