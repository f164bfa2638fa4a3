import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import type { QueuePairAddress, RemoteMemory } from '../src/index.js';
import { completions, PATIENT, side } from './support/pair.js';

const SCRIPT = fileURLToPath(new URL('./fixtures/outlived-victim.mjs', import.meta.url));

interface Told {
  readonly address: QueuePairAddress;
  readonly remote: RemoteMemory;
  readonly holder: number;
  readonly sockets: number;
}

it('a WRITE to a process that was killed fails, although its sockets are still open elsewhere', async () => {
  const { device, domain, queue, queuePair } = await side({ device: 'soft', transport: 'shm' });
  onTestFinished(() => device.close());
  const region = await domain.allocate(4096);
  const victim = fork(SCRIPT);
  onTestFinished(() => void victim.kill('SIGKILL'));
  const told = async (): Promise<Told> => (await once(victim, 'message'))[0] as Told;
  const { address, remote } = await told();
  const connected = told();
  victim.send({ address: queuePair.address });
  await Promise.all([connected, queuePair.connect(address, PATIENT)]);
  queuePair.postSend({ id: 1, opcode: 'WRITE', sges: [region.sge()], remote });
  expect(await completions(queue, 1)).toMatchObject([{ id: 1, status: 'SUCCESS' }]);
  const held = told();
  victim.send({ hold: true });
  const { holder, sockets } = await held;
  onTestFinished(() => void process.kill(holder, 'SIGKILL'));
  expect(sockets).toBeGreaterThan(0);
  victim.kill('SIGKILL');
  await once(victim, 'exit');
  queuePair.postSend({ id: 2, opcode: 'WRITE', sges: [region.sge()], remote });
  expect(await completions(queue, 1)).toMatchObject([{ id: 2, status: 'RETRY_EXCEEDED' }]);
});
