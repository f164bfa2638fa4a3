// What the paper measured with ResNet-152, and plain TCP beside one to one.
import { resnet152 } from '@rdmc/paramserver';
import { alternate, heading, open, ratio, row } from './cases.mjs';

const MIB = 1 << 20;
/** "None is larger than 8 MB": larger tensors are cut. */
const MOST_BYTES = 8 * MIB;
const SLOTS = 28;
const FLOWS = 5;

/** The bytes of the blocks: whole tensors where they are not larger than that. */
function blocks() {
  return resnet152().flatMap(({ length }) => {
    const bytes = length * 4;
    const count = Math.ceil(bytes / MOST_BYTES);
    const part = Math.ceil(bytes / count / 8) * 8;
    return Array.from({ length: count }, (_, index) => Math.min(part, bytes - index * part));
  });
}

/** 240 MB as one flow in one direction: from the first block until the last one has been taken and confirmed. */
export async function flow(crew, rounds) {
  const sizes = blocks();
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  console.log(`${sizes.length} blocks, ${(bytes / 1e6).toFixed(1)} MB; medians of the flows of each round`);
  heading(['variant', 'completion ms', 'Gb/s', 'requester CPU ms', 'responder CPU ms']);
  const results = await alternate(rounds, async (variant) => {
    await open(crew, variant, MOST_BYTES, [0], [1], SLOTS);
    // The first one faults memory in.
    await crew.call(0, 'flow', { sizes });
    const times = [];
    await crew.call(1, 'mark');
    let cpuSeconds = 0;
    for (let i = 0; i < FLOWS; i += 1) {
      const sent = await crew.call(0, 'flow', { sizes });
      times.push(sent.seconds * 1000);
      cpuSeconds += sent.cpuSeconds;
    }
    const got = await crew.call(1, 'report');
    await crew.all('end');
    const cpu = (seconds) => (seconds * 1000) / FLOWS;
    const middle = times.sort((a, b) => a - b)[times.length >> 1];
    return { ms: middle, requester: cpu(cpuSeconds), responder: cpu(got.cpuSeconds) };
  });
  const { baseline } = results;
  for (const [name, r] of Object.entries(results)) {
    const cells = [ratio(r.ms, baseline.ms), ((bytes * 8) / r.ms / 1e6).toFixed(2)];
    row([name, ...cells, ratio(r.requester, baseline.requester), ratio(r.responder, baseline.responder)]);
  }
}

const SIZES = (process.env.RDMC_BENCH_SIZES ?? '64,256,512,1024,4096,16384,65536,262144,1048576')
  .split(',')
  .map(Number);
const DURATION_MS = Number(process.env.RDMC_BENCH_MS ?? 1000);

/** Plain TCP of Node.js: one connection, one write for each message, read as it comes. */
export async function stream(crew, rounds) {
  heading(['size', 'variant', 'msg/s', 'Gb/s', 'requester µs', 'NIC', 'responder µs']);
  for (const size of SIZES) {
    const { tcp } = await alternate(rounds, async () => {
      const { port } = await crew.call(1, 'listen');
      await crew.call(0, 'stream', { port, byteLength: size, durationMs: DURATION_MS / 3 });
      await crew.call(1, 'streamed');
      const sent = await crew.call(0, 'stream', { port, byteLength: size, durationMs: DURATION_MS });
      const got = await crew.call(1, 'streamed');
      const messages = got.bytes / size;
      return {
        rate: messages / sent.seconds,
        requester: (1e6 * sent.cpuSeconds) / messages,
        responder: (1e6 * got.cpuSeconds) / messages,
      };
    }, ['tcp']);
    const gigabits = ((tcp.rate * size * 8) / 1e9).toFixed(2);
    row([
      size,
      'tcp',
      Math.round(tcp.rate),
      gigabits,
      tcp.requester.toFixed(2),
      '0.00',
      tcp.responder.toFixed(2),
    ]);
  }
}
