// One member stopped for 100 ms in mid-transfer (SIGSTOP: what a busy or swapping machine does), each receiver in
// turn: by how much the whole is later.
import { setTimeout as delay } from 'node:timers/promises';
import { MIB, median, round3, say } from '../tools.mjs';
import { withCluster } from '../with-lab.mjs';

const STOP_MS = 100;
/** Of the way through. */
const WHEN = 0.4;

async function stoppedOnce(cluster, group, bytes, pid, usual) {
  await cluster.prepare(group, bytes);
  const sending = cluster.multicast(group, bytes);
  await delay(usual * WHEN * 1000);
  process.kill(pid, 'SIGSTOP');
  await delay(STOP_MS);
  process.kill(pid, 'SIGCONT');
  const { started, ended } = await sending;
  return ended - started;
}

export async function stopped({ members = [8], mib = [64], rate, rounds, algorithms, blockBytes }) {
  const rows = [];
  for (const n of members) {
    for (const size of mib) {
      const bytes = size * MIB;
      await withCluster({ hosts: n, rate }, async (cluster) => {
        for (const [index, algorithm] of algorithms.entries()) {
          const group = await cluster.open(index + 1, bytes, { algorithm, blockBytes });
          const usual = [await cluster.seconds(group, bytes)];
          const skews = [];
          const late = [];
          for (let round = 0; round < rounds; round += 1) {
            usual.push(await cluster.seconds(group, bytes));
            skews.push(group.skews.at(-1));
            const pid = cluster.pids()[1 + (round % (n - 1))];
            late.push(await stoppedOnce(cluster, group, bytes, pid, median(usual)));
            await cluster.verify(group, bytes);
          }
          const seconds = median(usual);
          rows.push({
            MiB: size,
            n,
            name: algorithm,
            seconds: round3(seconds),
            skew: round3(median(skews)),
            stopped: round3(median(late)),
            delayMs: Math.round((median(late) - seconds) * 1000),
            mostDelayMs: Math.round((Math.max(...late) - seconds) * 1000),
          });
          say(JSON.stringify(rows.at(-1)));
          await cluster.close(group);
        }
      });
    }
  }
  return rows;
}
