// Latency of one to one by the size of a message, at the same low rate for all, with plain TCP of Node.js beside.
import { alternate, heading, open, ratio, row } from './cases.mjs';

const SIZES = (process.env.RDMC_BENCH_SIZES ?? '64,256,512,1024,4096,16384,65536').split(',').map(Number);
const DURATION_MS = Number(process.env.RDMC_BENCH_MS ?? 1000);
const PER_SECOND = 1000;

/** Sends twice; the first time is not counted. */
async function channel(crew, variant, byteLength) {
  await open(crew, variant, byteLength, [0], [1]);
  await crew.call(0, 'send', { byteLength, durationMs: DURATION_MS / 3, perSecond: PER_SECOND });
  await crew.call(1, 'latencies');
  await crew.call(0, 'send', { byteLength, durationMs: DURATION_MS, perSecond: PER_SECOND });
  const latencies = await crew.call(1, 'latencies');
  await crew.all('end');
  return latencies;
}

async function tcp(crew, byteLength) {
  const { port } = await crew.call(1, 'listenForStamps', { byteLength });
  const load = { port, byteLength, perSecond: PER_SECOND };
  await crew.call(0, 'sendStamps', { ...load, durationMs: DURATION_MS / 3 });
  await crew.call(1, 'latencies');
  await crew.call(0, 'sendStamps', { ...load, durationMs: DURATION_MS });
  return crew.call(1, 'latencies');
}

export async function sizes(crew, rounds) {
  heading(['size', 'variant', 'p50 µs', 'p99 µs']);
  for (const size of SIZES) {
    const run = (variant) => (variant === 'tcp' ? tcp(crew, size) : channel(crew, variant, size));
    const results = await alternate(rounds, run, ['baseline', 'pull', 'push', 'tcp']);
    for (const [name, { p50, p99 }] of Object.entries(results)) {
      row([size, name, ratio(p50, results.baseline.p50), ratio(p99, results.baseline.p99)]);
    }
  }
}
