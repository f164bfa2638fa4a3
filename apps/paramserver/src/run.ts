import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { blocksOf } from './blocks.js';
import { ParamServerError } from './errors.js';
import { MemberProcess } from './member-process.js';
import { hashOf, referenceSum } from './reference.js';
import { resnet152 } from './resnet152.js';
import { type IterationReport, type JoinReport, type Place, SERVER, type Settings } from './settings.js';
import { type IterationResult, iterationResult } from './summary.js';

/** Events of a run for the caller. */
export interface RunEvents {
  /** Blocks of the present iteration that a process has: sums sent (the server, 0) or received (workers). */
  progress(id: number, blocks: number, ofBlocks: number): void;
  /** Called after each iteration. */
  iteration(result: IterationResult): void;
  /** All processes have opened their devices; by id. */
  joined(reports: readonly JoinReport[]): void;
}

/**
 * Runs a server and its workers as processes of this machine and checks every sum, bit for bit.
 * @throws ParamServerError; every process has ended then
 */
export async function run(
  settings: Settings,
  device: Place['device'],
  events: RunEvents,
): Promise<IterationResult[]> {
  const tensors = resnet152().slice(0, settings.tensors);
  const blocks = blocksOf(tensors, settings.blockBytes).length;
  const values = tensors.reduce((sum, { length }) => sum + length, 0);
  const processes = Array.from({ length: settings.workers + 1 }, (_, id) => {
    const name = id === SERVER ? 'the server' : `worker ${id}`;
    return new MemberProcess(name, (done) => events.progress(id, done, blocks));
  });
  try {
    events.joined(await join(processes, settings, device));
    const results: IterationResult[] = [];
    for (let iteration = 0; iteration < settings.iterations; iteration += 1) {
      await all(processes, 'prepare', iteration);
      const reports = (await all(processes, 'iterate')) as IterationReport[];
      checkSums(reports, hashOf(referenceSum(values, settings.workers, iteration)), iteration);
      const result = iterationResult(iteration, blocks, reports, results);
      results.push(result);
      events.iteration(result);
    }
    await all(processes, 'leave');
    return results;
  } finally {
    await Promise.all(processes.map((member) => member.stop()));
  }
}

/**
 * Each process listens on its port itself: a server that is sent to a process accepts connections at once, before the
 * process can answer them, and the clients wait until they time out.
 */
async function join(
  processes: readonly MemberProcess[],
  settings: Settings,
  device: Place['device'],
): Promise<JoinReport[]> {
  const reserved = await reserveLoopbackPorts(processes.length);
  const members = reserved.map(({ host, port }, id) => ({ id, host, port }));
  for (const { server } of reserved) server.close();
  const joined = processes.map((member, id) =>
    member.order('join', { id, members, device, settings } satisfies Place),
  );
  return (await Promise.all(joined)) as JoinReport[];
}

function all(processes: readonly MemberProcess[], order: string, argument?: unknown): Promise<unknown[]> {
  return Promise.all(processes.map((member) => member.order(order, argument)));
}

function checkSums(reports: readonly IterationReport[], expected: string, iteration: number): void {
  reports.forEach(({ hash }, id) => {
    if (id === SERVER || hash === expected) return;
    throw new ParamServerError(
      'ERR_RDMC_PARAMSERVER_MISMATCH',
      `worker ${id} has a wrong sum in iteration ${iteration}: SHA-256 ${hash}; a single process computes ${expected}`,
    );
  });
}
