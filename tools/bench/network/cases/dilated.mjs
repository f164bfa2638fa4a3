// Many hosts on slow links (paper Figure 8): the work for a block is constant, so slow links let a few processors carry many
// members. All algorithms in groups, and the whole of a cast, in labs of their own.
// Sequential sending beyond 32 members is measured once, with 1/16 of the bytes.
import { loadavg } from 'node:os';
import { basename, join } from 'node:path';
import { cast, haveCast } from '../rivals/cast.mjs';
import { MIB, median, round3, say } from '../tools.mjs';
import { filesFor, withCluster, withLab } from '../with-lab.mjs';

const BLOCK_BYTES = 64 << 10;
/** The most members to which everything is sent one after the other. */
const MOST_SEQUENTIAL = 32;
const FRACTION = 16;
const WARM_UP_ROUNDS = 3;
/** Members start together on few processors. */
const TIMEOUT_MS = 300_000;
const CONNECT_TIMEOUT = '2min';

function algorithmsOf(n, mib, rounds) {
  const whole = { bytes: mib * MIB, rounds };
  const few = n > MOST_SEQUENTIAL ? { bytes: (mib * MIB) / FRACTION, rounds: 1 } : { ...whole, rounds: 1 };
  return [
    { algorithm: 'binomial-pipeline', ...whole },
    { algorithm: 'chain', ...whole },
    { algorithm: 'binomial-tree', ...whole, rounds: 1 },
    { algorithm: 'sequential', ...few },
  ];
}

async function groups(n, mib, { rate, queue, rounds, blockBytes, only, algorithms, windowMs }, add) {
  if (only !== undefined && !only.includes('rdmc')) return;
  await withCluster(
    { hosts: n, rate, latency: queue },
    async (cluster, lab, hosts) => {
      add('stream', mib * MIB, [(await lab.goodput(hosts[0], hosts[1], mib * MIB)).seconds]);
      const wanted = algorithmsOf(n, mib, rounds).filter(({ algorithm }) => algorithms.includes(algorithm));
      for (const [index, { algorithm, bytes, rounds: count }] of wanted.entries()) {
        const options = { algorithm, blockBytes: blockBytes === 'auto' ? BLOCK_BYTES : blockBytes };
        const group = await cluster.open(index + 1, bytes, { ...options, timeoutMs: TIMEOUT_MS });
        // A few blocks, so that V8 has compiled what runs for every one.
        for (let i = 0; i < WARM_UP_ROUNDS; i += 1)
          await cluster.seconds(group, Math.min(bytes, 4 * BLOCK_BYTES));
        group.skews.length = 0;
        const times = [];
        for (let round = 0; round < count; round += 1) {
          times.push(await cluster.seconds(group, bytes));
          await cluster.verify(group, bytes);
        }
        add(algorithm, bytes, times, { skew: round3(median(group.skews)), formed: round3(group.formed) });
        await cluster.close(group);
      }
    },
    { timeoutMs: TIMEOUT_MS, windowMs },
  );
}

async function casts(n, mib, { rate, queue, rounds, only }, add) {
  if ((only !== undefined && !only.includes('cast')) || !haveCast()) return;
  await withLab({ hosts: n, rate, latency: queue }, async (lab, hosts) => {
    const files = filesFor(hosts, mib * MIB);
    const connected = [];
    const all = [];
    const skews = [];
    for (let round = 0; round < rounds; round += 1) {
      files.fresh();
      const options = ['--connect-timeout', CONNECT_TIMEOUT];
      const { seconds, sending, skew } = await cast(lab, hosts, files.source, files.folderOf, { options });
      files.check((folder) => join(folder, basename(files.source)));
      connected.push(sending);
      all.push(seconds);
      skews.push(skew);
    }
    const skew = round3(median(skews));
    add('rdmc cast, once connected', mib * MIB, connected, { skew });
    add('rdmc cast, all of it', mib * MIB, all, { skew });
    files.remove();
  });
}

export async function dilated({ members = [8, 32, 64, 128], mib = [8], ...options }) {
  const rows = [];
  for (const size of mib) {
    for (const n of members) {
      const add = (name, bytes, times, more = {}) => {
        rows.push({
          MiB: round3(bytes / MIB),
          n,
          name,
          seconds: round3(median(times)),
          least: round3(Math.min(...times)),
          most: round3(Math.max(...times)),
          load: round3(loadavg()[0]),
          ...more,
        });
        say(JSON.stringify(rows.at(-1)));
      };
      await groups(n, size, options, add);
      await casts(n, size, options, add);
    }
  }
  return rows;
}
