import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { side } from './support/pair.js';

/** As in native/soft/tcp/frame.h. */
const MAGIC = 0x5443_4452;
const VERSION = 1;
const HELLO_BYTES = 96;
const REPLY_BYTES = 48;
const PROOF_BYTES = 32;
const CHALLENGE = 1;
const REFUSAL = 3;
const WRONG_KEY = 2;
/** As in native/soft/strangers.h: a connection that has not sent anything by then is dropped. */
const FIRST_BYTES_MS = 1000;
/** Time limit for a test that hangs. */
const LIMIT_MS = 60_000;

function hello(address: Record<string, unknown>, hasKey: boolean): Buffer {
  const out = Buffer.alloc(HELLO_BYTES);
  [MAGIC, VERSION, hasKey ? 1 : 0, 1, Number(address.queuePair), 7, 10, 2000].forEach((word, i) => {
    out.writeUInt32LE(word, i * 4);
  });
  randomBytes(16).copy(out, 32);
  Buffer.from(String(address.device), 'hex').copy(out, 48);
  return out;
}

async function reply(socket: Socket): Promise<{ kind: number; status: number }> {
  for (;;) {
    const bytes = socket.read(REPLY_BYTES) as Buffer | null;
    if (bytes) return { kind: bytes.readUInt32LE(8), status: bytes.readUInt32LE(12) };
    await once(socket, 'readable');
  }
}

async function greeting(hasKey: boolean): Promise<Socket> {
  const { device, queuePair } = await side({ device: 'soft', transport: 'tcp', key: randomBytes(32) });
  const address = queuePair.address as Record<string, unknown>;
  const socket = connect(Number(address.tcpPort), '127.0.0.1');
  onTestFinished(async () => {
    socket.destroy();
    await device.close();
  });
  socket.write(hello(address, hasKey));
  return socket;
}

describe('the TCP port of a device with a key', () => {
  it.each([
    ['zeros', Buffer.alloc(PROOF_BYTES)],
    ['random bytes', randomBytes(PROOF_BYTES)],
  ])('refuses a stranger that answers the challenge with %s', async (_, proof) => {
    const socket = await greeting(true);
    expect(await reply(socket)).toEqual({ kind: CHALLENGE, status: 0 });
    socket.write(proof);
    expect(await reply(socket)).toEqual({ kind: REFUSAL, status: WRONG_KEY });
  });

  it('refuses a stranger without a key', async () => {
    expect(await reply(await greeting(false))).toEqual({ kind: REFUSAL, status: WRONG_KEY });
  });
});

/** Connects, waits for the challenge, then for `all`, and answers with zeros; the bytes that came until the end. */
async function greetLate(
  port: number,
  said: Buffer,
  all: (challenged: Promise<unknown>) => Promise<unknown>,
) {
  const socket = connect(port, '127.0.0.1');
  let bytes = 0;
  socket
    .on('error', () => undefined)
    .on('data', (chunk) => {
      bytes += chunk.length;
    });
  onTestFinished(() => void socket.destroy());
  socket.write(said);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await all(Promise.race([new Promise((resolve) => socket.once('data', resolve)), closed]));
  socket.write(Buffer.alloc(PROOF_BYTES));
  await closed;
  return bytes;
}

it('a listener has room for the handshakes of 128 queue pairs of one address', async () => {
  const count = 128;
  const { device, queuePair } = await side({ device: 'soft', transport: 'tcp', key: randomBytes(32) });
  onTestFinished(() => device.close());
  const address = queuePair.address as Record<string, unknown>;
  const said = hello(address, true);
  const round = async (): Promise<number[]> => {
    const challenges: Promise<unknown>[] = [];
    const all = async (challenged: Promise<unknown>): Promise<void> => {
      challenges.push(challenged);
      await challenged; // By then all have begun.
      await Promise.all(challenges);
    };
    const port = Number(address.tcpPort);
    return Promise.all(Array.from({ length: count }, () => greetLate(port, said, all)));
  };
  const complete = 2 * REPLY_BYTES;
  let began: number;
  let received: number[];
  do {
    began = performance.now();
    received = await round();
    // If a busy machine made them late, dropped connections do not show anything about the quota.
  } while (performance.now() - began >= FIRST_BYTES_MS && received.some((bytes) => bytes !== complete));
  expect(received).toEqual(Array(count).fill(complete));
});

function replyOf(kind: number, status: number): Buffer {
  const out = Buffer.alloc(REPLY_BYTES);
  [MAGIC, VERSION, kind, status].forEach((word, i) => {
    out.writeUInt32LE(word, i * 4);
  });
  return out;
}

/** Challenges and resets at once the first connections of each queue pair, and refuses the next. */
async function pushingOut(times: number): Promise<number> {
  const seen = new Map<number, number>();
  const server = createServer((socket) => {
    socket
      .on('error', () => undefined)
      .once('data', (said) => {
        const from = said.readUInt32LE(12);
        const count = (seen.get(from) ?? 0) + 1;
        seen.set(from, count);
        if (count > times) socket.end(replyOf(REFUSAL, WRONG_KEY));
        else {
          socket.write(replyOf(CHALLENGE, 0));
          socket.resetAndDestroy();
        }
      });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

// Whether the reset overtakes the proof is random, hence that many; each of them must dial again in either case.
it('queue pairs that are replaced between challenge and proof dial again', async () => {
  const tcpPort = await pushingOut(4);
  const { device, domain, queue, queuePair } = await side({
    device: 'soft',
    transport: 'tcp',
    key: randomBytes(32),
  });
  onTestFinished(() => device.close());
  const remote = { ...queuePair.address, device: randomBytes(16).toString('hex'), tcpPort };
  const outcomes = Array.from({ length: 32 }, async () => {
    const one = domain.createQueuePair({ sendQueue: queue, receiveQueue: queue });
    const failed = one.connect(remote as typeof queuePair.address, { retryTimeoutMs: LIMIT_MS });
    return failed.catch(({ code }: { code: string }) => code);
  });
  expect(await Promise.all(outcomes)).toEqual(Array(32).fill('ERR_RDMC_WRONG_KEY'));
});
