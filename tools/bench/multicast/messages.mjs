// Small messages from one sender beside Open MPI, by turns: messages per second, and the latency of a lone message.
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Cluster, median } from './cluster.mjs';

const SMALL = fileURLToPath(new URL('../../../packages/group/bench/small.mjs', import.meta.url));
/** Bytes of a message, and messages of a round of ours and of MPI's: in a shorter round of ours V8 still compiles. */
const KINDS = [
  { bytes: 1, count: 200_000, mpiCount: 20_000 },
  { bytes: 1024, count: 200_000, mpiCount: 20_000 },
  { bytes: 8192, count: 100_000, mpiCount: 20_000 },
];
const WARM_ROUNDS = 3;
const LATENCY_RECEIVERS = 4;
const LATENCY_BYTES = 64;
const LATENCY_ROUNDS = 2_000;

/** Messages per second of `group.sendMany` and `group.messages()` (many), or of `send` and `for await` (single); and the skew. */
function ours(n, transport, { bytes, count }, form) {
  const args = ['--nodes', n, '--bytes', bytes, '--count', count, '--rounds', WARM_ROUNDS + 1];
  const options = ['--form', form, '--transport', transport];
  const printed = execFileSync(process.execPath, [SMALL, ...args.map(String), ...options], {
    encoding: 'utf8',
  });
  return { rate: Number(/median (\d+)/.exec(printed)[1]), skewMs: Number(/skew ([\d.]+)/.exec(printed)[1]) };
}

/** Every kind of message among `n` members, by turns. `mpi`: undefined if it is not installed. */
export function rates(n, transport, mpi, turns, say) {
  const rows = [];
  for (const kind of KINDS) {
    const found = { many: [], single: [], mpi: [] };
    for (let turn = 0; turn < turns; turn += 1) {
      found.many.push(ours(n, transport, kind, 'many'));
      found.single.push(ours(n, transport, kind, 'single'));
      if (mpi) found.mpi.push(median(mpi.rate(n, transport, kind.bytes, kind.mpiCount, WARM_ROUNDS)));
    }
    const of = (form, field) => median(found[form].map((each) => each[field]));
    const [many, single] = [of('many', 'rate'), of('single', 'rate')];
    const skewMs = { many: of('many', 'skewMs'), single: of('single', 'skewMs') };
    const theirs = mpi ? median(found.mpi) : null;
    const ratio = theirs && Math.round((Math.max(many, single) / theirs) * 100) / 100;
    rows.push({ n, transport, bytes: kind.bytes, many, single, mpi: theirs, ratio, skewMs });
    say(JSON.stringify(rows.at(-1)));
  }
  return rows;
}

const quantile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];

function quantiles(times) {
  const sorted = [...times].sort((a, b) => a - b);
  const microseconds = (share) => Math.round(quantile(sorted, share) * 1e4) / 10;
  return { p50: microseconds(0.5), p99: microseconds(0.99) };
}

/** Microseconds from the submission of a lone message until the last of 4 receivers has it, by turns; `skew`: from the first. */
export async function latency(transport, mpi, turns) {
  const found = { rdmc: [], mpi: [], skews: [] };
  for (let turn = 0; turn < turns; turn += 1) {
    const cluster = await Cluster.start(LATENCY_RECEIVERS + 1, { transport });
    await cluster.open({ id: 1, algorithm: 'binomial-pipeline', blockBytes: 'auto', warm: false });
    const times = [];
    for (let round = 0; round < LATENCY_ROUNDS * 1.1; round += 1) {
      times.push(await cluster.multicast(LATENCY_BYTES, 1, { asBytes: true }));
    }
    found.rdmc.push(...times.slice(-LATENCY_ROUNDS));
    found.skews.push(...cluster.skews.slice(-LATENCY_ROUNDS));
    await cluster.close();
    await cluster.stop();
    if (mpi) {
      const rounds = mpi.broadcast(LATENCY_RECEIVERS + 1, LATENCY_BYTES, LATENCY_ROUNDS, transport);
      found.mpi.push(...rounds);
    }
  }
  const [rdmc, skew] = [found.rdmc, found.skews].map(quantiles);
  return { transport, rdmc, skew, mpi: mpi ? quantiles(found.mpi) : null };
}
