import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { PYTHON } from '@rdmc/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { QueuePair } from '../src/index.js';
import { linkProgram } from './native/variant.mjs';
import { type Side, side } from './support/pair.js';

/** More than the 256 that the listener keeps of one address or process: they replace each other. */
const RETURNING = 500;
const SILENT = 600;
/** Time limit for a test that hangs. */
const LIMIT_MS = 60_000;

async function sides(transport: 'shm' | 'tcp'): Promise<[Side, Side]> {
  const pair: [Side, Side] = [
    await side({ device: 'soft', transport }),
    await side({ device: 'soft', transport }),
  ];
  onTestFinished(async () => {
    for (const { device } of pair) await device.close();
  });
  return pair;
}

/** One more queue pair on each side, connected while strangers connect. */
async function connectOnce([a, b]: readonly [Side, Side]): Promise<void> {
  const one = a.domain.createQueuePair({ sendQueue: a.queue, receiveQueue: a.queue });
  const two = b.domain.createQueuePair({ sendQueue: b.queue, receiveQueue: b.queue });
  const options = { retryTimeoutMs: LIMIT_MS };
  await Promise.all([one.connect(two.address, options), two.connect(one.address, options)]);
}

/** Connects, sends `said` or nothing, and connects again whenever the connection ends. */
function stranger(port: number, said: string): () => void {
  let socket: Socket | undefined;
  let stopped = false;
  const begin = (): void => {
    if (stopped) return;
    socket = connect(port, '127.0.0.1', () => said && socket!.write(said));
    socket.on('error', () => undefined);
    socket.resume().on('close', () => setTimeout(begin, 1));
  };
  begin();
  return () => {
    stopped = true;
    socket?.destroy();
  };
}

function portOf({ address }: QueuePair): number {
  return Number((address as Record<string, unknown>).tcpPort);
}

describe('connections without a proof of the key', () => {
  it.each([
    ['say nothing', ''],
    ['begin a greeting and stop', 'RDCT'],
  ])('do not keep peers out over TCP when they %s and connect repeatedly', async (_, said) => {
    const pair = await sides('tcp');
    const port = portOf(pair[0].queuePair);
    const stops = Array.from({ length: RETURNING }, () => stranger(port, said));
    onTestFinished(() => {
      for (const stop of stops) stop();
    });
    for (let i = 0; i < 3; i += 1) await connectOnce(pair);
  });

  it('are closed after their time over TCP', async () => {
    const [{ queuePair }] = await sides('tcp');
    const port = portOf(queuePair);
    const sockets = ['', 'RDCT'].map((said) => {
      const socket = connect(port, '127.0.0.1', () => said && socket.write(said));
      return socket.resume();
    });
    await Promise.all(sockets.map((socket) => once(socket, 'close')));
  });

  it('do not keep peers out over the Unix socket', async () => {
    const pair = await sides('shm');
    const script = fileURLToPath(new URL('fixtures/silent-strangers.py', import.meta.url));
    const device = String(pair[0].queuePair.address.device);
    const strangers = spawn(PYTHON, [script, device, String(SILENT)]);
    onTestFinished(() => void strangers.kill('SIGKILL'));
    await once(strangers.stdout, 'data');
    await connectOnce(pair);
    // It ends when the last of its connections has ended.
    expect(await once(strangers, 'exit')).toEqual([0, null]);
  });
});

const program = await linkProgram('soft-strangers', 'soft-strangers');
const lacking = program ? '' : '[skipped: the addon was not built here: npx turbo run native]';

describe.skipIf(lacking)(`who leaves for a stranger ${lacking}`, () => {
  it.each([
    ['is of the same address where that has its quota', 'one-address'],
    ['is the oldest of all addresses where they have theirs', 'all'],
    ['has said nothing, if there is such a one', 'silent'],
  ])('%s', (_, name) => {
    const run = spawnSync(program as string, [name], { encoding: 'utf8' });
    expect(run.status ?? run.signal, run.stderr).toBe(0);
  });
});
