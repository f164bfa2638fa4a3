// Relays by the worker and by the device, by turns in one cluster.
import { Cluster, median, rounds, WARM_UP_ROUNDS } from './cluster.mjs';

const MIB = 1 << 20;
const TURNS = 3;
const round2 = (value) => Math.round(value * 100) / 100;
let nextGroup = 1;

/** Messages of one size: medians of all rounds of both kinds of relay, and the medians of each turn. */
async function compare(cluster, algorithm, mib, least) {
  const byteLength = mib * MIB;
  const count = Math.max(least, Math.min(40, Math.round(64 / mib)));
  const times = { worker: [], device: [] };
  const skews = { worker: [], device: [] };
  const turns = [];
  for (let turn = 0; turn < TURNS; turn += 1) {
    const medians = [];
    for (const [relay, list] of Object.entries(times)) {
      await cluster.open({ id: nextGroup, algorithm, blockBytes: 'auto', warm: true, relay });
      nextGroup += 1;
      const measured = await rounds(cluster, byteLength, count, turn === 0 ? WARM_UP_ROUNDS : 2);
      list.push(...measured);
      skews[relay].push(...cluster.skews.slice(-count));
      medians.push(median(measured));
      await cluster.close();
    }
    turns.push(round2(medians[1] / medians[0]));
  }
  const [workerMs, deviceMs] = [median(times.worker), median(times.device)];
  return {
    workerMs: round2(workerMs),
    deviceMs: round2(deviceMs),
    ratio: round2(deviceMs / workerMs),
    turns,
    skewMs: { worker: round2(median(skews.worker)), device: round2(median(skews.device)) },
  };
}

/** `windows`: for how many milliseconds threads poll after work; 0: they always sleep. `least`: rounds of a turn. */
export async function relays({ members, algorithms, mibs, windows, transport, least, say }) {
  const rows = [];
  for (const n of members.filter((each) => each > 2)) {
    for (const windowMs of windows) {
      const cluster = await Cluster.start(n, { allocateBytes: Math.max(...mibs) * MIB, transport, windowMs });
      for (const algorithm of algorithms) {
        for (const mib of mibs) {
          const measured = await compare(cluster, algorithm, mib, least);
          rows.push({ n, transport, windowMs, algorithm, mib, ...measured });
          say(JSON.stringify(rows.at(-1)));
        }
      }
      await cluster.stop();
    }
  }
  return rows;
}
