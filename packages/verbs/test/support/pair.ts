import { setTimeout as delay } from 'node:timers/promises';
import {
  type CompletionQueue,
  type ConnectOptions,
  type Device,
  type OpenDeviceOptions,
  openDevice,
  type ProtectionDomain,
  type QueuePair,
  type WorkCompletion,
} from '../../src/index.js';

/** Time limit for a test that hangs. */
const LIMIT_MS = 120_000;

/** Waits for a value. */
export async function until<T>(what: string, look: () => T | undefined): Promise<T> {
  const end = performance.now() + LIMIT_MS;
  while (performance.now() < end) {
    const found = look();
    if (found !== undefined) return found;
    await delay(1);
  }
  throw new Error(`${what}: not within ${LIMIT_MS} ms`);
}

/** For a peer that answers: a busy machine keeps a process from its processor for longer than the default. */
export const PATIENT: ConnectOptions = { retryTimeoutMs: LIMIT_MS };

/** Connects each of two queue pairs to the other. */
export async function connectBoth(a: QueuePair, b: QueuePair): Promise<void> {
  await Promise.all([a.connect(b.address, PATIENT), b.connect(a.address, PATIENT)]);
}

export interface Side {
  readonly device: Device;
  readonly domain: ProtectionDomain;
  readonly queue: CompletionQueue;
  readonly queuePair: QueuePair;
}

export async function side(options: OpenDeviceOptions): Promise<Side> {
  const device = await openDevice(options);
  const domain = device.allocateProtectionDomain();
  const queue = device.createCompletionQueue();
  const queuePair = domain.createQueuePair({ sendQueue: queue, receiveQueue: queue });
  return { device, domain, queue, queuePair };
}

/** Two devices of one name with a connected queue pair each. */
export async function connectedSides(options: OpenDeviceOptions): Promise<[Side, Side]> {
  const [a, b] = [await side(options), await side(options)];
  await connectBoth(a.queuePair, b.queuePair);
  return [a, b];
}

/** Waits for `count` completions. */
export async function completions(queue: CompletionQueue, count: number): Promise<WorkCompletion[]> {
  const all: WorkCompletion[] = [];
  return until(`${count} completions`, () => {
    all.push(...queue.poll());
    return all.length >= count ? all : undefined;
  });
}
