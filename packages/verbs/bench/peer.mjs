// The other process of a benchmark: one region, one queue pair; executes its parent's commands.
import { openDevice } from '@rdmc/verbs';

const device = await openDevice({ transport: process.argv[2] });
const pd = device.allocateProtectionDomain();
const cq = device.createCompletionQueue();
const queuePair = pd.createQueuePair({ sendQueue: cq, receiveQueue: cq });
const region = await pd.allocate(Number(process.argv[3]), {
  remoteWrite: true,
  remoteRead: true,
  remoteAtomic: true,
});

/** Answers pings: waits for the next number in its own memory, writes it back to the parent. */
async function pong({ rounds, address, rkey }) {
  const words = new Int32Array(region.view().buffer, 0, 64);
  const batch = device.createSubmissionQueue();
  for (let round = 1; round <= rounds; round += 1) {
    while (Atomics.load(words, 0) !== round);
    words[32] = round;
    batch.begin(2, queuePair.number, round, 0);
    batch.sge(region.address + 128, 4, region.lkey);
    batch.remote(address, rkey);
    batch.flush();
  }
}

process.on('message', async (message) => {
  if (message.connect) {
    await queuePair.connect(message.connect);
    process.send({ connected: true });
  } else if (message.pong) {
    await pong(message.pong);
    process.send({ done: true });
  } else {
    process.exit(0);
  }
});
process.on('disconnect', () => process.exit(0));
process.send({ address: queuePair.address, region: region.remote(0) });
