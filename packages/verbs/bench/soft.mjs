// Soft device between two processes: WRITE bandwidth against a plain copy, small WRITE rate, latency.
// Prints one JSON object. Usage: node bench/soft.mjs [shm|tcp]
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { CompletionWord, Layout, openDevice, WorkRequestFlag } from '@rdmc/verbs';

const transport = process.argv[2] ?? 'shm';
const regionBytes = 256 << 20;
const { copyBenchmark } = createRequire(import.meta.url)('../native/build/Release/rdmc_verbs.node');

const child = fork(new URL('peer.mjs', import.meta.url), [transport, String(regionBytes)]);
const [hello] = await once(child, 'message');
const device = await openDevice({ transport });
const pd = device.allocateProtectionDomain();
const cq = device.createCompletionQueue();
const queuePair = pd.createQueuePair({ sendQueue: cq, receiveQueue: cq, sendDepth: 256 });
const region = await pd.allocate(regionBytes, { remoteWrite: true });
await queuePair.connect(hello.address);
child.send({ connect: queuePair.address });
await once(child, 'message');
const batch = device.createSubmissionQueue();
const { address, rkey } = hello.region;

const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
const seconds = () => performance.now() / 1e3;

function drain() {
  const count = cq.pollBatch();
  for (let i = 0; i < count; i += 1) {
    const status = cq.words[i * Layout.COMPLETION_WORDS + CompletionWord.STATUS];
    if (status !== 0) throw new Error(`completion status ${status}`);
  }
  return count;
}

/** WRITEs of `size` bytes over the whole region; every `signalEvery`th is signalled. */
function write(size, count, depth, signalEvery) {
  const slots = Math.floor(regionBytes / size);
  let posted = 0;
  let acknowledged = 0;
  const start = seconds();
  while (acknowledged < count) {
    while (posted < count && posted - acknowledged < depth) {
      const signaled = (posted + 1) % signalEvery === 0 || posted + 1 === count;
      const offset = (posted % slots) * size;
      batch.begin(2, queuePair.number, posted, signaled ? WorkRequestFlag.SIGNALED : 0);
      batch.sge(region.address + offset, size, region.lkey);
      batch.remote(address + offset, rkey);
      posted += 1;
      if (posted % 16 === 0) batch.flush();
    }
    batch.flush();
    const signals = drain();
    if (signals > 0) acknowledged = Math.min(count, acknowledged + signals * signalEvery);
  }
  return seconds() - start;
}

function bandwidth(rounds) {
  const ours = [];
  const copy = [];
  const ratio = [];
  write(1 << 20, 512, 4, 1);
  for (let i = 0; i < rounds; i += 1) {
    const mine = (regionBytes * 2) / write(1 << 20, 512, 4, 1) / 1e9;
    const plain = regionBytes / copyBenchmark(regionBytes, 1 << 20, 1) / 1e9;
    ours.push(mine);
    copy.push(plain);
    ratio.push(mine / plain);
  }
  return { writeGBps: median(ours), copyGBps: median(copy), ratio: median(ratio) };
}

function messageRate(rounds) {
  const rates = [];
  write(64, 200_000, 128, 16);
  for (let i = 0; i < rounds; i += 1) rates.push(1_000_000 / write(64, 1_000_000, 128, 16));
  return { perSecond: Math.round(median(rates)) };
}

async function latency(rounds) {
  const words = new Int32Array(region.view(0, 4096).buffer, 0, 64);
  words.fill(0);
  child.send({ pong: { rounds, address: region.address + 4, rkey: region.rkey } });
  const times = [];
  for (let round = 1; round <= rounds; round += 1) {
    const start = process.hrtime.bigint();
    words[32] = round;
    batch.begin(2, queuePair.number, round, 0);
    batch.sge(region.address + 128, 4, region.lkey);
    batch.remote(address, rkey);
    batch.flush();
    while (Atomics.load(words, 1) !== round) if (transport === 'tcp') cq.pollBatch();
    times.push(Number(process.hrtime.bigint() - start) / 2000);
  }
  await once(child, 'message');
  times.splice(0, rounds / 10);
  times.sort((a, b) => a - b);
  return {
    medianMicroseconds: times[times.length >> 1],
    p99Microseconds: times[Math.floor(times.length * 0.99)],
  };
}

const result = {
  transport: queuePair.transport,
  write1MiB: bandwidth(7),
  write64B: messageRate(5),
  latency: await latency(transport === 'tcp' ? 5_000 : 100_000),
};
console.log(JSON.stringify(result, null, 2));
child.send({ exit: true });
await once(child, 'exit');
await device.close();
