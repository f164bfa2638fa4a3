import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { LocalPeer } from './support/local-peer.js';
import { side } from './support/pair.js';

const execute = promisify(execFile);
const NOBODY = 65_534;
const isRoot = process.geteuid?.() === 0;

async function open(transport: 'auto' | 'shm' | 'tcp') {
  const mine = await side({ device: 'soft', transport });
  onTestFinished(() => mine.device.close());
  return mine;
}

// Only root can start a process of another user: run the tests as root to see these.
describe.skipIf(!isRoot)('a process of another user (needs root)', () => {
  it('is refused by a device without a key over TCP', async () => {
    const { queuePair } = await open('auto');
    const script = fileURLToPath(new URL('fixtures/connecting.mjs', import.meta.url));
    const env = { PATH: process.env.PATH };
    const options = { uid: NOBODY, gid: NOBODY, cwd: '/', env };
    const other = await execute(process.execPath, [script, JSON.stringify(queuePair.address)], options);
    expect(other).toEqual({ stdout: 'ERR_RDMC_WRONG_KEY', stderr: '' });
  });

  it('is refused by the Unix socket before it can prove a key', async () => {
    const { queuePair } = await open('shm');
    const peer = new LocalPeer('dial', { device: queuePair.address.device, uid: NOBODY, proof: 'none' });
    expect(await peer.rest()).toEqual([{ refused: 1, fds: 0 }]);
  });
});
