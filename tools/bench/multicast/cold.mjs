// Where the time of the first multicast of fresh processes goes. Every kind has processes of its own:
//
//   cold     the first message: memory is allocated when its first block arrives, and the code is not compiled
//   touched  the first message, into memory that is there: the code alone is cold
//   compiled after messages into other memory: the memory alone is cold
//   ahead    memory handed over ahead (`receive`): joining, the creation of the group and the first message together
//   warm     code and memory are warm
//
// Faults are minor page faults of all members; cpu is their processor time in seconds. skewMs: from the first receiver that has
// the message to the last one. populateMs: a process allocates as many bytes and writes to each page, alone.
import { Cluster, median } from './cluster.mjs';

const COMPILING_ROUNDS = 10;
const round = (value) => Math.round(value * 100) / 100;

async function withCluster(n, bytes, work) {
  const cluster = await Cluster.start(n, { allocateBytes: bytes });
  try {
    return await work(cluster);
  } finally {
    await cluster.stop();
  }
}

const pipeline = { algorithm: 'binomial-pipeline', blockBytes: 'auto' };

/** One message: milliseconds, and what all members used for it. */
async function measured(cluster, bytes) {
  const ms = await cluster.multicast(bytes);
  const usage = await cluster.usage();
  const sum = (field) => usage.reduce((total, each) => total + each[field], 0);
  const skewMs = round(cluster.skews.at(-1));
  return { ms: round(ms), skewMs, cpu: round(sum('cpuSeconds')), faults: sum('minorFaults') };
}

/** The median of each number of some runs. */
function medians(runs) {
  const of = (field) => median(runs.map((run) => run[field]));
  return { ms: of('ms'), skewMs: of('skewMs'), cpu: of('cpu'), faults: of('faults') };
}

const kinds = {
  cold: (n, bytes) =>
    withCluster(n, bytes, async (cluster) => {
      await cluster.open({ id: 1, ...pipeline, warm: false });
      return measured(cluster, bytes);
    }),
  touched: (n, bytes) =>
    withCluster(n, bytes, async (cluster) => {
      await cluster.open({ id: 1, ...pipeline, warm: true });
      return measured(cluster, bytes);
    }),
  compiled: (n, bytes) =>
    withCluster(n, bytes, async (cluster) => {
      await cluster.open({ id: 1, ...pipeline, warm: true });
      for (let i = 0; i < COMPILING_ROUNDS; i += 1) await cluster.multicast(bytes);
      await cluster.close();
      await cluster.open({ id: 2, ...pipeline, warm: false });
      return measured(cluster, bytes);
    }),
  ahead: (n, bytes) =>
    withCluster(n, bytes, async (cluster) => {
      const start = performance.now();
      await cluster.open({ id: 1, ...pipeline, warm: false, ahead: { messages: 1, byteLength: bytes } });
      const created = performance.now() - start;
      const first = await measured(cluster, bytes);
      const joined = Math.max(...(await cluster.usage()).map(({ joinMs }) => joinMs));
      const parts = { joinedMs: round(joined), createdMs: round(created), firstMs: first.ms };
      return { ...first, ...parts, ms: round(joined + created + first.ms) };
    }),
  warm: (n, bytes) =>
    withCluster(n, bytes, async (cluster) => {
      await cluster.open({ id: 1, ...pipeline, warm: true });
      for (let i = 0; i < COMPILING_ROUNDS; i += 1) await cluster.multicast(bytes);
      const runs = [];
      for (let i = 0; i < 5; i += 1) runs.push(await measured(cluster, bytes));
      return medians(runs);
    }),
};

/** All kinds by turns, `rounds` times: medians, and their ratios to `warm`. */
export async function cold(n, bytes, rounds, say) {
  const runs = new Map(Object.keys(kinds).map((kind) => [kind, []]));
  const populate = [];
  for (let turn = 0; turn < rounds; turn += 1) {
    for (const [kind, run] of Object.entries(kinds)) {
      runs.get(kind).push(await run(n, bytes));
      say(JSON.stringify({ n, kind, ...runs.get(kind).at(-1) }));
    }
    populate.push(await withCluster(2, 0, (cluster) => cluster.populate(bytes)));
  }
  const ofKinds = [...runs].map(([kind, list]) => [kind, medians(list)]);
  const row = { n, ...Object.fromEntries(ofKinds), populateMs: round(median(populate)) };
  const { cold: first, warm, ahead } = row;
  // Memory handed ahead is populated at n - 1 members, by two processors.
  const limit = warm.ms + ((n - 1) * row.populateMs) / 2 + 500;
  return { ...row, toWarm: round(first.ms / warm.ms), aheadMs: ahead.ms, aheadLimitMs: round(limit) };
}
