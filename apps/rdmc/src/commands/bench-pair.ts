import { setTimeout as delay } from 'node:timers/promises';
import type { Operation } from '../bench/endpoint.js';
import type { Pair } from '../bench/pair.js';
import { interruptible } from '../interrupt.js';

const CAUSE_GRACE_MS = 200;

/** Runs `work` with two connected processes, and ends the other one whatever happens. */
export function withPair<Result>(
  transport: 'auto' | 'shm' | 'tcp',
  work: (pair: Pair, transport: 'shm' | 'tcp') => Promise<Result>,
): Promise<Result> {
  return interruptible(async (signal) => {
    const { Pair } = await import('../bench/pair.js');
    const pair = await Pair.open(transport, signal);
    try {
      return await work(pair, pair.endpoint.queuePair.transport === 'tcp' ? 'tcp' : 'shm');
    } catch (error) {
      // The measuring loop sees a broken connection before the event loop hears how the other process ended.
      await delay(CAUSE_GRACE_MS);
      pair.check();
      throw error;
    } finally {
      await pair.close();
    }
  });
}

export function title(what: string, operation: Operation, transport: 'shm' | 'tcp'): string {
  const way = transport === 'shm' ? 'shared memory' : 'TCP';
  return `${operation.toUpperCase()} ${what} between two processes, soft device over ${way}`;
}
