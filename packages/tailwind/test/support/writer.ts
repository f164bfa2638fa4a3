import type { Grant } from '@rdmc/tailwind/backup';
import {
  type Device,
  type MemoryRegion,
  openDevice,
  type ProtectionDomain,
  type QueuePair,
  type WorkCompletion,
} from '@rdmc/verbs';

/** A device of a backup, and one of a primary that writes into its memory. */
export interface Pair {
  readonly protectionDomain: ProtectionDomain;
  /** One WRITE; resolves with the completion's status. */
  write(grant: Grant, offset: number, bytes: Uint8Array): Promise<string>;
  close(): Promise<void>;
}

export async function connectedPair(): Promise<Pair> {
  const [target, source] = [await side(), await side()];
  await source.queuePair.connect(target.queuePair.address);
  await target.queuePair.connect(source.queuePair.address);
  const region = await source.pd.allocate(1 << 20);
  return {
    protectionDomain: target.pd,
    write: (grant, offset, bytes) => write(source, region, grant, offset, bytes),
    close: async () => {
      await source.device.close();
      await target.device.close();
    },
  };
}

interface Side {
  readonly device: Device;
  readonly pd: ProtectionDomain;
  readonly cq: { poll(): WorkCompletion[] };
  readonly queuePair: QueuePair;
}

async function side(): Promise<Side> {
  const device = await openDevice({ device: 'soft' });
  const pd = device.allocateProtectionDomain();
  const cq = device.createCompletionQueue();
  return { device, pd, cq, queuePair: pd.createQueuePair({ sendQueue: cq, receiveQueue: cq }) };
}

async function write(
  { cq, queuePair }: Side,
  region: MemoryRegion,
  grant: Grant,
  offset: number,
  bytes: Uint8Array,
): Promise<string> {
  region.view().set(bytes);
  const remote = { address: grant.address + offset, rkey: grant.rkey };
  queuePair.postSend({ id: 1, opcode: 'WRITE', sges: [region.sge(0, bytes.length)], remote });
  for (;;) {
    const [completion] = cq.poll();
    if (completion) return completion.status;
    await new Promise((resolve) => setImmediate(resolve));
  }
}
