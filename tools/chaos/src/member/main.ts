// One member of the tested cluster, as a process: the coordinator, or a server.
import { join } from 'node:path';
import { Mesh } from '@rdmc/mesh';
import { Node } from '@rdmc/node';
import { tailwind } from '@rdmc/tailwind';
import { Backup, dumpOnSignals } from '@rdmc/tailwind/backup';
import { Coordinator, FileStore } from '@rdmc/tailwind/coordinator';
import { FailedFlushes } from './failed-flushes.js';
import { CertainRefusal } from './key-values.js';
import type { Answer, Refusal, Request, Setup } from './messages.js';
import { Server } from './server.js';

/** Short, so that backups free and forget recovered logs in runs of some seconds. */
const SWEEP_INTERVAL_MS = 100;

const setup = JSON.parse(process.argv[2]!) as Setup;
const { id, members, silenceTimeoutMs, isOpenNetwork } = setup;
const heartbeats =
  silenceTimeoutMs === 0
    ? { silenceTimeoutMs }
    : { silenceTimeoutMs, heartbeatMs: Math.floor(silenceTimeoutMs / 4) };
const joining = {
  id,
  members: [...members],
  timeoutMs: 120_000,
  ...heartbeats,
  ...(isOpenNetwork && { insecureListenBeyondLoopback: true }),
};

function say(answer: Answer): void {
  if (process.connected) process.send!(answer);
}

async function beCoordinator(): Promise<void> {
  const mesh = await Mesh.join(joining);
  const store = await FileStore.open(join(setup.directory, 'state'));
  await Coordinator.open({ mesh, store, leaseMs: setup.leaseMs, leaseMarginMs: 50 });
}

async function beServer(): Promise<void> {
  const host = members.find((member) => member.id === id)!.host;
  const device = { device: 'soft', transport: setup.transport, listen: { host } };
  const node = await Node.join({ ...joining, windowMs: 0, device, protocols: { logs: tailwind() } });
  const { logs, protectionDomain } = node;
  const { directory, clusterId, segmentBytes, buffers } = setup;
  const place = { directory, clusterId, segmentBytes, buffers };
  const failedFlushes = new FailedFlushes();
  const backup = await Backup.open({ protectionDomain, logger: failedFlushes, ...place });
  dumpOnSignals(backup);
  const coordinator = logs.coordinator(setup.coordinator);
  logs.serve(backup, { coordinator, sweepIntervalMs: SWEEP_INTERVAL_MS });
  const server = new Server(setup, node, failedFlushes);
  process.on('message', (request: Request) => {
    server.answer(request.ask).then(
      (result) => say({ id: request.id, result: result ?? null }),
      (error: unknown) => say({ id: request.id, refusal: refusalOf(error) }),
    );
  });
}

function refusalOf(error: unknown): Refusal {
  const { code = 'UNKNOWN', message } = error as Error & { code?: string };
  return { code, message, isCertain: error instanceof CertainRefusal };
}

process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
await (id === setup.coordinator ? beCoordinator() : beServer());
say({ ready: true });
