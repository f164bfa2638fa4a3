import * as z from 'zod';
import type { Operation } from '../bench/endpoint.js';
import type { Pair } from '../bench/pair.js';
import { type BenchDevice, type BenchRoute, describeRoute } from '../bench/route.js';
import { isConsequence } from '../errors.js';
import { interruptible } from '../interrupt.js';

/** Parser of `--operation`. */
export const operation = z.enum(['write', 'send', 'read'], { error: () => 'expected write, send or read' });

/** Help of `--device` and `--transport`. */
export const DEVICE_HELP = 'auto, soft, ibverbs or a name';
export const TRANSPORT_HELP = 'of the soft device: auto, shm or tcp';

/** Runs `work` with two connected processes, and ends the other process in any case. */
export function withPair<Result>(
  wanted: BenchDevice,
  work: (pair: Pair, route: BenchRoute) => Promise<Result>,
): Promise<Result> {
  return interruptible(async (signal) => {
    const { Pair } = await import('../bench/pair.js');
    const pair = await Pair.open(wanted, signal);
    try {
      return await work(pair, pair.endpoint.route);
    } catch (error) {
      throw isConsequence(error) ? await pair.causeOf(error) : error;
    } finally {
      await pair.close();
    }
  });
}

export function title(what: string, operation: Operation, route: BenchRoute): string {
  return `${operation.toUpperCase()} ${what} between two processes, ${describeRoute(route)}`;
}
