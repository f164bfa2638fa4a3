import { type Algorithm, createSchedule, expectedSlack, type Transfer } from '@rdmc/schedule';
import type { Check } from './check.js';
import { runIdeal } from './ideal.js';

/** One delay of a send makes the multicast longer by at most that delay (RDMC, section 4.5). */
export function delayCheck(
  algorithm: Algorithm,
  { nodes, blocks, lasts }: { readonly nodes: number; readonly blocks: number; readonly lasts: number },
  { from, to, block }: Pick<Transfer, 'from' | 'to' | 'block'>,
): Check {
  const without = runIdeal({ nodes, blocks, algorithm }).microseconds;
  const delays = [{ from, to, block, lasts }];
  return {
    what: `a delay of ${lasts} of block ${block} from ${from} to ${to}, ${algorithm}, ${nodes} members`,
    expected: without + lasts,
    found: runIdeal({ nodes, blocks, algorithm, delays }).microseconds,
    relation: 'most',
  };
}

/** Every transfer of a schedule. */
export function transfersOfSchedule(algorithm: Algorithm, nodes: number, blocks: number): Transfer[] {
  return [...createSchedule({ algorithm, nodes, blocks }).transfers()];
}

/**
 * The mean slack of the steady steps: how long before a send its member received the block, from a trace. A receive of
 * step s ends at s + 1.
 */
export function slackCheck(nodes: number): Check {
  const dimensions = Math.log2(nodes);
  const blocks = 3 * dimensions;
  const { trace } = runIdeal({ nodes, blocks, trace: true });
  const received = new Map<string, number>();
  for (const record of trace!) {
    if (record.received !== null) received.set(`${record.node} ${record.receiveBlock}`, record.received);
  }
  let sum = 0;
  let count = 0;
  for (const { node, step, sendBlock, started } of trace!) {
    if (node === 0 || started === null || step < dimensions || step >= blocks) continue;
    sum += started - (received.get(`${node} ${sendBlock}`)! - 1);
    count += 1;
  }
  return {
    what: `mean slack of ${nodes} members`,
    expected: expectedSlack(nodes),
    found: sum / count,
    relation: 'equal',
  };
}
