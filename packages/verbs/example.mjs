// Two devices in one process: A writes into B's memory, without any work of B's processor.
import { openDevice } from '@rdmc/verbs';

async function openSide() {
  const device = await openDevice({ device: 'soft' });
  const pd = device.allocateProtectionDomain();
  const cq = device.createCompletionQueue();
  const queuePair = pd.createQueuePair({ sendQueue: cq, receiveQueue: cq });
  const region = await pd.allocate(4096, { remoteWrite: true, remoteRead: true });
  return { device, cq, queuePair, region };
}

const a = await openSide();
const b = await openSide();

// Addresses are plain JSON: send them to the other side by any means.
await a.queuePair.connect(b.queuePair.address);
await b.queuePair.connect(a.queuePair.address);

a.region.view().set(new TextEncoder().encode('hello from A'));
a.queuePair.postSend({ id: 1, opcode: 'WRITE', sges: [a.region.sge(0, 12)], remote: b.region.remote(100) });

let completions = [];
while (completions.length === 0) {
  completions = a.cq.poll();
  await new Promise((resolve) => setImmediate(resolve));
}
console.log(completions[0].opcode, completions[0].status, `over ${a.queuePair.transport}`);
console.log(new TextDecoder().decode(b.region.view(100, 12)));

await a.device.close();
await b.device.close();
