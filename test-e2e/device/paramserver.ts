import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { patient } from '../src/patience.js';
import { deviceOf } from './devices.js';

const MAIN = fileURLToPath(new URL('../../apps/paramserver/dist/main.js', import.meta.url));
const LIMIT_MS = 60_000;
/** The first layers of the network, 4 MB: all of it takes minutes on an emulated machine. */
const TENSORS = 60;

export function paramserver(): void {
  describe('rdmc-paramserver on an RDMA device', () => {
    it('two workers and a single process compute the same sums, bit for bit', async () => {
      const size = ['--tensors', String(TENSORS), '--iterations', '2', '--workers', '2'];
      const args = [MAIN, ...size, '--device', deviceOf(0), '--json'];
      const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: patient(LIMIT_MS) });
      const { iterations, blocks, device } = JSON.parse(stdout);
      assert.equal(device.device, deviceOf(0));
      const messages = iterations.map((one: { messages: number }) => one.messages);
      assert.deepEqual(messages, [4 * blocks, 4 * blocks]);
    });
  });
}
