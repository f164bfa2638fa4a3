import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { side } from './support/pair.js';

/** As in native/tcp_frame.h. */
const MAGIC = 0x5443_4452;
const VERSION = 1;
const HELLO_BYTES = 96;
const REPLY_BYTES = 48;
const PROOF_BYTES = 32;
const CHALLENGE = 1;
const REFUSAL = 3;
const WRONG_KEY = 2;

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

  it('refuses a stranger that has no key', async () => {
    expect(await reply(await greeting(false))).toEqual({ kind: REFUSAL, status: WRONG_KEY });
  });
});
