import { setTimeout as delay } from 'node:timers/promises';
import { type Device, type OpenDeviceOptions, openDevice, type QueuePair } from '@rdmc/verbs';
import { CliError, codeOf, messageOf } from '../errors.js';
import { ExitCode } from '../exit-codes.js';
import { formatBytes, formatSeconds } from '../ui/units.js';
import { type CheckResult, result } from './check.js';

const TEST_BYTES = 1 << 20;
const TIMEOUT_MS = 5000;

type ForcedTransport = 'shm' | 'tcp';

/** Waits for the completion of a request. */
async function completed(poll: () => readonly { status: string }[]): Promise<void> {
  const end = performance.now() + TIMEOUT_MS;
  while (performance.now() < end) {
    const [completion] = poll();
    if (completion) {
      if (completion.status === 'SUCCESS') return;
      throw new CliError('ERR_RDMC_SELF_TEST', `the WRITE completed with ${completion.status}`);
    }
    await delay(1);
  }
  throw new CliError('ERR_RDMC_SELF_TEST', `the WRITE did not complete within ${TIMEOUT_MS} ms`);
}

function endOn(device: Device) {
  const domain = device.allocateProtectionDomain();
  const queue = device.createCompletionQueue();
  const queuePair: QueuePair = domain.createQueuePair({ sendQueue: queue, receiveQueue: queue });
  return { domain, queue, queuePair };
}

/** Runs one WRITE from one device to another device of this process; returns its duration in seconds. */
async function writeOnce(source: Device, target: Device): Promise<number> {
  const [from, to] = [endOn(source), endOn(target)];
  const sent = await from.domain.allocate(TEST_BYTES);
  const arrived = await to.domain.allocate(TEST_BYTES, { remoteWrite: true });
  const pattern = sent.view();
  for (let i = 0; i < TEST_BYTES; i += 1) pattern[i] = i * 7 + (i >>> 8);
  arrived.view().fill(0);
  await Promise.all([
    from.queuePair.connect(to.queuePair.address),
    to.queuePair.connect(from.queuePair.address),
  ]);
  const start = performance.now();
  from.queuePair.postSend({ id: 1, opcode: 'WRITE', sges: [sent.sge()], remote: arrived.remote() });
  await completed(() => from.queue.poll());
  const seconds = (performance.now() - start) / 1000;
  if (Buffer.compare(pattern, arrived.view()) !== 0) {
    throw new CliError('ERR_RDMC_VERIFY_FAILED', 'the bytes that arrived differ from those written', {
      exitCode: ExitCode.VERIFICATION_FAILED,
    });
  }
  return seconds;
}

/** Opens a device twice, connects the two, WRITEs from one to the other and compares. */
async function testDevice(id: string, title: string, options: OpenDeviceOptions): Promise<CheckResult> {
  const devices: Device[] = [];
  try {
    for (let i = 0; i < 2; i += 1) devices.push(await openDevice(options));
    const seconds = await writeOnce(devices[0]!, devices[1]!);
    const found = `${formatBytes(TEST_BYTES)} written from one device to another and compared, ${formatSeconds(seconds)}`;
    return result(id, title, 'ok', found);
  } catch (error) {
    const advice =
      'rdmc devices shows which devices open; please report this with the output of rdmc doctor --json';
    return result(id, title, 'fail', `${codeOf(error) ?? 'error'}: ${messageOf(error)}`, advice);
  } finally {
    for (const device of devices) await device.close();
  }
}

/** Tests two soft devices. */
export function selfTest(transport: ForcedTransport): Promise<CheckResult> {
  return testDevice(`self-test-${transport}`, `Self-test, ${transport}`, { device: 'soft', transport });
}

/** Tests an RDMA device with itself. */
export function rdmaSelfTest(name: string): Promise<CheckResult> {
  return testDevice(`self-test-${name}`, `Self-test, ${name}`, { device: name });
}
