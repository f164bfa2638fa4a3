// Multicast on one host, every number beside its rival in the same run. Prints JSON to stdout, progress to stderr.
//
//   node tools/bench/multicast/run.mjs large     256 MiB to n = 2, 4, 8, 16: pipeline, MPI, the copying limit
//   node tools/bench/multicast/run.mjs cold      the first one of fresh processes, and its parts: memory, code, memory ahead
//   node tools/bench/multicast/run.mjs tiny      1-byte messages per second
//   node tools/bench/multicast/run.mjs messages  messages of 1 B, 1 and 8 KiB per second, in the rings; BENCH_TRANSPORT=tcp
//   node tools/bench/multicast/run.mjs latency   a lone message of 64 bytes to the last of 4 receivers; BENCH_TRANSPORT=tcp
//   node tools/bench/multicast/run.mjs window    hybrid, interrupts and polling with more processes than cores
//   node tools/bench/multicast/run.mjs waits     the same for 100 MB, 1 MB and 10 KB, with the processors of n = 2, 3, 4 members
//   node tools/bench/multicast/run.mjs blocks    the automatic block size against fixed ones
//   node tools/bench/multicast/run.mjs relays    relays by the worker and by the device, by turns; BENCH_TRANSPORT=tcp
//   node tools/bench/multicast/run.mjs steps     each step of one transfer of 256 MiB to 4, from the trace; links of 1 Gbit/s; BENCH_STOP_MS
//   node tools/bench/multicast/run.mjs idle      CPU of open groups, over 10 s, 25 s after the last message
//
// skewMs is the median time from the first receiver that has a message (with several, the last one) to the last receiver.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { Cluster, median, rounds, WARM_UP_ROUNDS } from './cluster.mjs';
import { cold } from './cold.mjs';
import { latency, rates } from './messages.mjs';
import { Mpi } from './mpi.mjs';
import { relays } from './relays.mjs';
import { steps } from './steps.mjs';
import { waits } from './waits.mjs';

const { copyBenchmark } = createRequire(import.meta.url)(
  '../../../packages/verbs/native/build/Release/rdmc_verbs.node',
);
const MIB = 1 << 20;
const LARGE = 256 * MIB;
const SIZES = process.env.BENCH_MEMBERS?.split(',').map(Number) ?? [2, 4, 8, 16];
const TRANSPORT = process.env.BENCH_TRANSPORT ?? 'shm';
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
const listOf = (name, usual) => (process.env[name] ?? usual).split(',');

const say = (text) => process.stderr.write(`${text}\n`);
const round2 = (value) => Math.round(value * 100) / 100;
const round4 = (value) => Math.round(value * 1e4) / 1e4;

/** Milliseconds in which both cores, busy at once, copy `bytes` each, block by block. */
function copyMilliseconds(bytes = LARGE) {
  return copyBenchmark(bytes, MIB, Math.min(2, cpus().length)) * 1000;
}

async function withCluster(n, options, group, work) {
  const cluster = await Cluster.start(n, options);
  try {
    await cluster.open({
      id: 1,
      algorithm: 'binomial-pipeline',
      blockBytes: 'auto',
      warm: true,
      ...group,
    });
    const result = await work(cluster);
    await cluster.close();
    return result;
  } finally {
    await cluster.stop();
  }
}

const benchmarks = {
  /** Alternates ours, MPI and the copy, so that all see the same machine. */
  async large() {
    const mpi = Mpi.build();
    const rows = [];
    for (const n of SIZES) {
      const ours = [];
      const skews = [];
      const theirs = [];
      const copies = [];
      let utilisation = 0;
      for (let turn = 0; turn < 3; turn += 1) {
        const group = await withCluster(n, { allocateBytes: LARGE }, {}, async (cluster) => {
          const times = await rounds(cluster, LARGE, 3);
          const usage = await cluster.usage();
          await cluster.verify();
          skews.push(...cluster.skews.slice(WARM_UP_ROUNDS));
          utilisation = Math.max(utilisation, ...usage.map((each) => each.eventLoopUtilisation));
          return times;
        });
        ours.push(...group);
        copies.push(copyMilliseconds(), copyMilliseconds(), copyMilliseconds());
        if (mpi) theirs.push(...mpi.broadcast(n, LARGE, 3));
      }
      const limit = Math.max(1, (n - 1) / 2) * median(copies);
      rows.push({
        n,
        rdmcMs: round2(median(ours)),
        skewMs: round2(median(skews)),
        mpiMs: mpi ? round2(median(theirs)) : null,
        copyMs: round2(median(copies)),
        limitMs: round2(limit),
        ratioToLimit: round2(median(ours) / limit),
        ratioToMpi: mpi ? round2(median(ours) / median(theirs)) : null,
        eventLoopUtilisation: round2(utilisation),
      });
      say(JSON.stringify(rows.at(-1)));
    }
    mpi?.remove();
    return { mpi: mpi?.version, rows };
  },

  /** The parts of the first multicast: `cold.mjs`. */
  async cold() {
    const rows = [];
    for (const n of SIZES) {
      rows.push(await cold(n, LARGE, ROUNDS, say));
      say(JSON.stringify(rows.at(-1)));
    }
    return rows;
  },

  async tiny() {
    const mpi = Mpi.build();
    const rows = [];
    for (const n of SIZES) {
      const count = 5000;
      const { ms, skew } = await withCluster(n, { allocateBytes: MIB }, {}, async (cluster) => {
        await cluster.multicast(1, count);
        const times = [];
        for (let i = 0; i < ROUNDS; i += 1) times.push(await cluster.multicast(1, count));
        return { ms: median(times), skew: median(cluster.skews.slice(1)) };
      });
      const one = mpi ? median(mpi.broadcast(n, 1, 2000)) : undefined;
      rows.push({
        n,
        perSecond: Math.round((count / ms) * 1000),
        skewMs: round2(skew),
        mpiPerSecond: one ? Math.round(1000 / one) : null,
      });
      say(JSON.stringify(rows.at(-1)));
    }
    mpi?.remove();
    return rows;
  },

  async messages() {
    const mpi = Mpi.build();
    const rows = SIZES.flatMap((n) => rates(n, TRANSPORT, mpi, ROUNDS, say));
    mpi?.remove();
    return { mpi: mpi?.version, rows };
  },

  async latency() {
    const mpi = Mpi.build();
    const row = await latency(TRANSPORT, mpi, ROUNDS);
    mpi?.remove();
    return { mpi: mpi?.version, ...row };
  },

  async window() {
    const rows = [];
    for (const n of SIZES.filter((each) => each > 2)) {
      const times = { hybrid: [], interrupts: [], polling: [] };
      const skews = { hybrid: [], interrupts: [], polling: [] };
      for (let turn = 0; turn < 3; turn += 1) {
        for (const [name, windowMs] of [
          ['hybrid', 50],
          ['interrupts', 0],
          ['polling', Number.MAX_SAFE_INTEGER],
        ]) {
          const options = { allocateBytes: LARGE, windowMs };
          await withCluster(n, options, {}, async (cluster) => {
            times[name].push(...(await rounds(cluster, LARGE, 3)));
            skews[name].push(...cluster.skews.slice(WARM_UP_ROUNDS));
          });
        }
      }
      const [hybrid, interrupts, polling] = Object.values(times).map(median);
      rows.push({
        n,
        hybridMs: round2(hybrid),
        interruptsMs: round2(interrupts),
        pollingMs: round2(polling),
        hybridToInterrupts: round2(hybrid / interrupts),
        skewMs: Object.fromEntries(Object.entries(skews).map(([name, list]) => [name, round2(median(list))])),
      });
      say(JSON.stringify(rows.at(-1)));
    }
    return rows;
  },

  /** All block sizes in one cluster, in turns. */
  async blocks() {
    const rows = [];
    const fixed = [16, 32, 64, 128, 256, 512, 1024, 2048, 4096].map((kib) => kib * 1024);
    for (const n of SIZES.filter((each) => each === 4 || each === 8)) {
      const cluster = await Cluster.start(n, { allocateBytes: LARGE });
      let id = 1;
      await cluster.open({ id: 0, algorithm: 'binomial-pipeline', blockBytes: 'auto', warm: true });
      await rounds(cluster, LARGE, ROUNDS);
      await cluster.close();
      for (const byteLength of [64 * 1024, 256 * 1024, MIB, 4 * MIB, 16 * MIB, 64 * MIB, LARGE]) {
        const candidates = [
          'auto',
          ...fixed.filter((each) => each <= byteLength && byteLength / each <= 4096),
        ];
        const times = new Map(candidates.map((each) => [each, []]));
        const skews = new Map(candidates.map((each) => [each, []]));
        for (let turn = 0; turn < 3; turn += 1) {
          for (const blockBytes of candidates) {
            await cluster.open({ id, algorithm: 'binomial-pipeline', blockBytes, warm: true });
            const count = byteLength >= 64 * MIB ? 4 : 15;
            times.get(blockBytes).push(...(await rounds(cluster, byteLength, count, 2)));
            skews.get(blockBytes).push(...cluster.skews.slice(-count));
            await cluster.close();
            id += 1;
          }
        }
        const medians = [...times].map(([block, list]) => ({
          block,
          ms: median(list),
          skewMs: median(skews.get(block)),
        }));
        const auto = medians[0];
        const best = medians.slice(1).reduce((a, b) => (b.ms < a.ms ? b : a));
        rows.push({
          n,
          byteLength,
          autoMs: round2(auto.ms),
          bestBlock: best.block,
          bestMs: round2(best.ms),
          ratio: round2(auto.ms / best.ms),
          all: medians.map(({ block, ms, skewMs }) => ({ block, ms: round4(ms), skewMs: round4(skewMs) })),
        });
        say(JSON.stringify(rows.at(-1)));
      }
      await cluster.stop();
    }
    return rows;
  },

  /** Of these algorithms and sizes: BENCH_ALGORITHMS, BENCH_MIB, BENCH_WINDOW_MS. */
  relays: () =>
    relays({
      members: SIZES,
      algorithms: listOf('BENCH_ALGORITHMS', 'binomial-pipeline,chain'),
      mibs: listOf('BENCH_MIB', '1,8,64,256').map(Number),
      windows: listOf('BENCH_WINDOW_MS', '50').map(Number),
      transport: TRANSPORT,
      least: ROUNDS,
      say,
    }),

  waits: () => waits({ members: listOf('BENCH_MEMBERS', '2,3,4').map(Number), transport: TRANSPORT, say }),

  /** BENCH_STOP_MS: so long a relay is stopped near the end. */
  steps: () => {
    const stopMs = Number(process.env.BENCH_STOP_MS ?? 0);
    return steps({ n: 4, byteLength: LARGE, blockBytes: MIB, linkRate: 1e9, stopMs });
  },

  async idle() {
    return withCluster(4, { allocateBytes: MIB }, {}, async (cluster) => {
      await cluster.multicast(MIB);
      // V8 tidies its heap in the background for some seconds after work.
      await delay(25_000);
      const before = await cluster.usage();
      await delay(10_000);
      const after = await cluster.usage();
      return after.map((each, member) => ({
        member,
        cpuPercent: round2((each.cpuSeconds - before[member].cpuSeconds) * 10),
      }));
    });
  },
};

const wanted = process.argv[2];
if (!Object.hasOwn(benchmarks, wanted ?? '')) {
  say(`usage: node tools/bench/multicast/run.mjs ${Object.keys(benchmarks).join('|')}`);
  process.exit(2);
}
const model = /model name\s*: (.*)/.exec(readFileSync('/proc/cpuinfo', 'utf8'))?.[1];
const result = await benchmarks[wanted]();
console.log(
  JSON.stringify(
    { benchmark: wanted, cpu: model, cores: cpus().length, node: process.version, result },
    null,
    2,
  ),
);
