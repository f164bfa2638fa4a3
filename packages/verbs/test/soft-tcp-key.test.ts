import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
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
const REFUSED = { kind: REFUSAL, status: WRONG_KEY };
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

interface Reply {
  readonly kind: number;
  readonly status: number;
}

/** The next reply; nothing where the listener has dropped the connection. */
async function reply(socket: Socket): Promise<Reply | undefined> {
  while (!socket.readableEnded && !socket.destroyed) {
    const bytes = socket.read(REPLY_BYTES) as Buffer | null;
    if (bytes) return { kind: bytes.readUInt32LE(8), status: bytes.readUInt32LE(12) };
    await Promise.race(['readable', 'end', 'close'].map((event) => once(socket, event).catch(() => {})));
  }
  return undefined;
}

/** The replies to a stranger; it sends a proof if there is one. */
async function greet(address: Record<string, unknown>, proof?: Buffer): Promise<(Reply | undefined)[]> {
  const socket = connect(Number(address.tcpPort), '127.0.0.1');
  socket.on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  socket.write(hello(address, proof !== undefined));
  const first = await reply(socket);
  if (proof === undefined) return [first];
  socket.write(proof);
  return [first, await reply(socket)];
}

/**
 * The result of strangers that the listener did not drop because they were late. If a busy machine made them late, another
 * result than the expected one does not show anything.
 */
async function inTime<T>(attempt: () => Promise<T>, expected: T): Promise<T> {
  for (;;) {
    const began = performance.now();
    const result = await attempt();
    const wasLate = performance.now() - began >= FIRST_BYTES_MS;
    if (!wasLate || isDeepStrictEqual(result, expected)) return result;
  }
}

/** The address of a queue pair of a device with a key. */
async function keyedAddress(): Promise<Record<string, unknown>> {
  const { device, queuePair } = await side({ device: 'soft', transport: 'tcp', key: randomBytes(32) });
  onTestFinished(() => device.close());
  return queuePair.address as Record<string, unknown>;
}

describe('the TCP port of a device with a key', () => {
  it.each([
    ['zeros', Buffer.alloc(PROOF_BYTES)],
    ['random bytes', randomBytes(PROOF_BYTES)],
  ])('refuses a stranger that answers the challenge with %s', async (_, proof) => {
    const address = await keyedAddress();
    const expected = [{ kind: CHALLENGE, status: 0 }, REFUSED];
    expect(await inTime(() => greet(address, proof), expected)).toEqual(expected);
  });

  it('refuses a stranger without a key', async () => {
    const address = await keyedAddress();
    expect(await inTime(() => greet(address), [REFUSED])).toEqual([REFUSED]);
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
  const address = await keyedAddress();
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
  const complete: number[] = Array(count).fill(2 * REPLY_BYTES);
  expect(await inTime(round, complete)).toEqual(complete);
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
