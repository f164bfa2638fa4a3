/** The process of the server or of a worker. It executes its parent's orders, and reports the results. */
import { performance } from 'node:perf_hooks';
import { categoryOf, codeOf, messageOf } from '@rdmc/common';
import { HiPowerNode } from '@rdmc/hipower';
import { blocksOf } from './blocks.js';
import { fillGradients } from './gradients.js';
import { hashOf } from './reference.js';
import { resnet152 } from './resnet152.js';
import { Server } from './server.js';
import { type IterationReport, type JoinReport, type Place, SERVER } from './settings.js';
import { usageNow, usageSince } from './usage.js';
import { Worker } from './worker.js';

const PROGRESS_MS = 100;

/** The orders of every process of a run. */
interface Part {
  prepare(iteration: number): void;
  iterate(onProgress: (blocks: number) => void): Promise<void>;
  /** SHA-256 of its values; null: it does not have any. */
  result(): string | null;
  readonly outgoing: Server['outgoing'];
  readonly incoming: Server['incoming'];
  close(): Promise<void>;
}

let node: HiPowerNode;
let part: Part;

async function join(place: Place): Promise<JoinReport> {
  const { id, members, device, settings } = place;
  node = await HiPowerNode.join({ id, members, device });
  const tensors = resnet152().slice(0, settings.tensors);
  const blocks = blocksOf(tensors, settings.blockBytes);
  const values = tensors.reduce((sum, { length }) => sum + length, 0);
  part =
    id === SERVER
      ? serverPart(await Server.open(node, settings, blocks))
      : workerPart(await Worker.open(node, settings, blocks), id - 1, values);
  const { device: name, reason } = node.device.choice;
  return { device: name, reason };
}

function serverPart(server: Server): Part {
  return {
    incoming: server.incoming,
    outgoing: server.outgoing,
    prepare: () => {},
    iterate: async (onProgress) => {
      await server.iterate(onProgress);
      await server.drain();
    },
    result: () => null,
    close: () => server.close(),
  };
}

function workerPart(worker: Worker, index: number, values: number): Part {
  const gradients = new Float32Array(values);
  const sums = new Float32Array(values);
  return {
    incoming: worker.incoming,
    outgoing: worker.outgoing,
    prepare: (iteration) => {
      fillGradients(gradients, index, iteration);
      sums.fill(Number.NaN);
    },
    iterate: (onProgress) => worker.iterate(gradients, sums, onProgress),
    result: () => hashOf(sums),
    close: () => worker.close(),
  };
}

async function iterate(): Promise<IterationReport> {
  const usage = usageNow();
  const startedAt = performance.timeOrigin + performance.now();
  let told = performance.now();
  await part.iterate((blocks) => {
    const now = performance.now();
    if (now - told < PROGRESS_MS) return;
    told = now;
    tell({ progress: blocks });
  });
  const endedAt = performance.timeOrigin + performance.now();
  const spent = usageSince(usage);
  const [sent, received] = [part.outgoing.counters(), part.incoming.counters()];
  return { startedAt, endedAt, usage: spent, hash: part.result(), sent, received };
}

async function perform(order: string, argument: unknown): Promise<unknown> {
  if (order === 'join') return join(argument as Place);
  if (order === 'prepare') return part.prepare(argument as number);
  if (order === 'iterate') return iterate();
  await part.close();
  await node.close();
  return undefined;
}

/** Where the parent disconnects before it has read the report, `disconnect` ends this process: it is not an error here. */
function tell(report: object): void {
  if (process.connected) process.send!(report, () => {});
}

process.on('message', ({ order, argument }: { order: string; argument: unknown }) => {
  perform(order, argument).then(
    (result) => tell({ done: order, result: result ?? null }),
    (error: unknown) => {
      const code = codeOf(error) ?? 'ERR_RDMC_PARAMSERVER';
      tell({ failed: order, code, category: categoryOf(code), message: messageOf(error) });
    },
  );
});
// The parent has ended, and with it the run.
process.on('disconnect', () => process.exit(0));
// It may have ended before this listener was added.
if (!process.connected) process.exit(0);
