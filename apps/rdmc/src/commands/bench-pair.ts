import * as z from 'zod';
import type { Operation } from '../bench/endpoint.js';
import type { Pair } from '../bench/pair.js';
import { isConsequence } from '../errors.js';
import { interruptible } from '../interrupt.js';

/** Parser of `--operation`. */
export const operation = z.enum(['write', 'send', 'read'], { error: () => 'expected write, send or read' });

/** Runs `work` with two connected processes, and ends the other process in any case. */
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
      throw isConsequence(error) ? await pair.causeOf(error) : error;
    } finally {
      await pair.close();
    }
  });
}

export function title(what: string, operation: Operation, transport: 'shm' | 'tcp'): string {
  const way = transport === 'shm' ? 'shared memory' : 'TCP';
  return `${operation.toUpperCase()} ${what} between two processes, soft device over ${way}`;
}
