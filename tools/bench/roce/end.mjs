// One end of a connection between two devices: a process with one queue pair and one region. The one that was forked
// does what its parent says.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { openDevice } from '@rdmc/verbs';

export const DEPTH = 128;
/** Of the receiving side, as perftest has it. */
const RECEIVE_DEPTH = 512;
const REGION_BYTES = 16 << 20;
/** Gives the same time-out for one packet as perftest's -u 16: 268 ms, seven times. */
const CONNECT = { retryTimeoutMs: 2000 };

export async function openEnd(name) {
  const device = await openDevice({ device: name });
  const pd = device.allocateProtectionDomain();
  const channel = device.createCompletionChannel();
  const cq = device.createCompletionQueue({ depth: 2048, channel });
  const queuePair = pd.createQueuePair({
    sendQueue: cq,
    receiveQueue: cq,
    sendDepth: DEPTH,
    receiveDepth: RECEIVE_DEPTH,
  });
  const region = await pd.allocate(REGION_BYTES, { remoteWrite: true });
  region.view().fill(0);
  const batch = device.createSubmissionQueue();
  const connect = (address) => queuePair.connect(address, CONNECT);
  return { device, channel, cq, queuePair, region, batch, connect };
}

/** A near end here on `near`, and a far end in another process on `far`, connected; `tell` runs one of its tasks. */
export async function openPair(near, far) {
  const child = fork(new URL('far-end.mjs', import.meta.url), [far]);
  const [hello] = await once(child, 'message');
  const end = await openEnd(near);
  await end.connect(hello.address);
  child.send({ connect: end.queuePair.address });
  await once(child, 'message');
  return {
    end,
    remote: hello.region,
    /** Resolves when the far end has begun; its promise `done` when it has ended. */
    async tell(task, options) {
      child.send({ task, options });
      await once(child, 'message');
      return { done: once(child, 'message') };
    },
    async close() {
      child.disconnect();
      await once(child, 'exit');
      await end.device.close();
    },
  };
}
