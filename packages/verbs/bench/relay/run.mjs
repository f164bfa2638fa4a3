// One message from process A through a relay B back to A, by B's worker or by B's device (waitFor): time for each of the
// two hops, and processor time of B, native threads included. Prints one JSON object for each.
//   node bench/relay/run.mjs [shm|tcp] [bytes] [messages]
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { CompletionWord, Layout, Opcode, openDevice } from '@rdmc/verbs';
import { yieldProcessor } from '@rdmc/verbs/loop';

const [transport = 'shm', bytes = '4096', messages = '20000'] = process.argv.slice(2);
const size = Number(bytes);
const count = Number(messages);
const WARM_UP = 1_000;
const SLOTS = 64;

async function measure(mode) {
  const child = fork(new URL('relay.mjs', import.meta.url), [transport, mode, bytes]);
  const [hello] = await once(child, 'message');
  const device = await openDevice({ device: 'soft', transport });
  const domain = device.allocateProtectionDomain();
  const queue = device.createCompletionQueue();
  const options = { sendQueue: queue, receiveQueue: queue, sendDepth: 256, receiveDepth: SLOTS };
  const [from, to] = [domain.createQueuePair(options), domain.createQueuePair(options)];
  const region = await domain.allocate(2 * size);
  const ready = once(child, 'message');
  child.send({ connect: { incoming: from.address, outgoing: to.address } });
  await Promise.all([from.connect(hello.incoming), to.connect(hello.outgoing), ready]);
  const batch = device.createSubmissionQueue();
  const receive = () => {
    batch.begin(Opcode.RECEIVE, to.number, 1, 0);
    batch.sge(region.address + size, size, region.lkey);
  };
  for (let i = 0; i < SLOTS; i += 1) receive();
  batch.flush();

  const send = () => {
    batch.begin(Opcode.SEND, from.number, 1, 0);
    batch.sge(region.address, size, region.lkey);
    batch.flush();
  };
  /**
   * Messages that have come; their receives are posted again. An empty poll yields the processor: B's threads may be on the
   * same one, and would wait for the end of A's time slice.
   */
  const arrived = () => {
    const found = queue.pollBatch();
    if (found === 0) yieldProcessor();
    for (let i = 0; i < found; i += 1) {
      const status = queue.words[i * Layout.COMPLETION_WORDS + CompletionWord.STATUS];
      if (status !== 0) throw new Error(`completion status ${status}`);
      receive();
    }
    batch.flush();
    return found;
  };
  const oneByOne = (rounds) => {
    const times = [];
    for (let round = 0; round < rounds; round += 1) {
      const start = performance.now();
      send();
      while (arrived() === 0);
      times.push(((performance.now() - start) * 1e3) / 2);
    }
    return times.sort((a, b) => a - b);
  };
  const stream = (rounds) => {
    for (let sent = 0, got = 0; got < rounds; got += arrived()) {
      for (; sent < rounds && sent - got < SLOTS / 4; sent += 1) send();
    }
  };
  const cpu = async () => {
    child.send({ cpu: true });
    return (await once(child, 'message'))[0];
  };
  const timed = async (work) => {
    const before = await cpu();
    const start = performance.now();
    const result = work();
    const microseconds = (performance.now() - start) * 1e3;
    return { result, microseconds, cpu: (await cpu()) - before };
  };
  oneByOne(WARM_UP);
  const latency = await timed(() => oneByOne(count));
  const rate = await timed(() => stream(count));
  child.send({ exit: true });
  await once(child, 'exit');
  await device.close();
  const { result: times } = latency;
  return {
    transport,
    mode,
    bytes: size,
    hopMicroseconds: { median: times[times.length >> 1], p99: times[Math.floor(times.length * 0.99)] },
    relayCpuMicroseconds: { oneByOne: latency.cpu / count, stream: rate.cpu / count },
    streamPerSecond: Math.round((count / rate.microseconds) * 1e6),
  };
}

for (const mode of ['worker', 'device']) console.log(JSON.stringify(await measure(mode)));
