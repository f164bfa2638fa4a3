import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { type Device, type OpenDeviceOptions, openDevice, surveyRdmaDevices } from '@rdmc/verbs';
import { patient } from '../src/patience.js';
import { addressOf, deviceOf, EXPENDABLE, setLink, setMtu, WHY_NOT } from './devices.js';

const LIMIT_MS = 60_000;
const MIB = 1 << 20;
/** The device whose network device is changed: no other test uses it meanwhile. */
const CHANGED = 3;
/** Of the machine of tools/roce-vm. */
const MTU = 4200;

async function opened(options: OpenDeviceOptions, work: (device: Device) => Promise<void>): Promise<void> {
  const device = await openDevice(options);
  try {
    await work(device);
  } finally {
    await device.close();
  }
}

function refused(options: OpenDeviceOptions, code: string, message: RegExp): Promise<void> {
  return assert.rejects(openDevice(options), { code, message });
}

/** A queue pair connected to one of the same device, and a region longer than any message. */
async function withLongRegion(device: Device) {
  const domain = device.allocateProtectionDomain();
  const queue = device.createCompletionQueue();
  const queues = { sendQueue: queue, receiveQueue: queue };
  const [from, to] = [domain.createQueuePair(queues), domain.createQueuePair(queues)];
  await Promise.all([from.connect(to.address), to.connect(from.address)]);
  const byteLength = device.attributes.maxMessageBytes + 4096;
  return { queuePair: from, region: await domain.allocate(byteLength, { remoteWrite: true }) };
}

/** The same in another process with that memlock limit: its code and message. */
function allocateWithin(memlockBytes: number, bytes: number): string {
  const script = `
    import { openDevice } from ${JSON.stringify(import.meta.resolve('@rdmc/verbs'))};
    const domain = (await openDevice({ device: '${deviceOf(0)}' })).allocateProtectionDomain();
    await domain.allocate(${bytes}).then(() => console.log('allocated'), ({ code, message }) => console.log(code, message));
    process.exit();`;
  const limits = [`--memlock=${memlockBytes}`, 'setpriv', '--bounding-set=-ipc_lock', '--inh-caps=-ipc_lock'];
  const node = [process.execPath, '--input-type=module', '-e', script];
  const run = spawnSync('prlimit', [...limits, ...node], { encoding: 'utf8', timeout: patient(LIMIT_MS) });
  return run.stdout || run.stderr;
}

/** A test that changes the network device below an RDMA device. */
function changing(title: string, work: () => Promise<void>): void {
  it(EXPENDABLE ? title : `${title} [${WHY_NOT}]`, { skip: !EXPENDABLE }, work);
}

export function badInput(): void {
  describe('invalid requests to a device: the error has a code, what was found, and what to do', () => {
    it('a name that does not exist: the error lists the known names', () => {
      const names = surveyRdmaDevices().devices.map(({ name }) => name);
      assert.ok(names.includes(deviceOf(0)));
      return refused({ device: 'nosuch0' }, 'ERR_RDMC_UNKNOWN_DEVICE', new RegExp(names.join(', ')));
    });

    it('a port that does not exist', () =>
      refused({ device: deviceOf(0), port: 200 }, 'ERR_RDMC_UNKNOWN_PORT', /it has ports 1 to/));

    it('a GID index beyond the table, and an empty one', async () => {
      const port = surveyRdmaDevices().devices.find(({ name }) => name === deviceOf(0))!.ports[0]!;
      const used = new Set(port.gids.map(({ index }) => index));
      const all = Array.from({ length: 256 }, (_, index) => index);
      for (const gidIndex of [all.find((index) => !used.has(index))!, 255]) {
        await refused({ device: deviceOf(0), gidIndex }, 'ERR_RDMC_GID_INDEX', /rdmc devices/);
      }
    });

    it('queues deeper than the device allows', () =>
      opened({ device: deviceOf(0) }, async (device) => {
        const { maxCompletionQueueDepth, maxSendDepth, maxReceiveDepth } = device.attributes;
        const invalid = (most: number) => ({
          code: 'ERR_RDMC_INVALID_OPTION',
          message: new RegExp(`to ${most}`),
        });
        const depth = maxCompletionQueueDepth + 1;
        assert.throws(() => device.createCompletionQueue({ depth }), invalid(maxCompletionQueueDepth));
        const domain = device.allocateProtectionDomain();
        const queue = device.createCompletionQueue();
        const queues = { sendQueue: queue, receiveQueue: queue };
        const sendDepth = maxSendDepth + 1;
        assert.throws(() => domain.createQueuePair({ ...queues, sendDepth }), invalid(maxSendDepth));
        const receiveDepth = maxReceiveDepth + 1;
        assert.throws(() => domain.createQueuePair({ ...queues, receiveDepth }), invalid(maxReceiveDepth));
      }));

    it('a message longer than the device sends: refused at posting, and the queue pair can be used', () =>
      opened({ device: deviceOf(0) }, async (device) => {
        const { queuePair, region } = await withLongRegion(device);
        const sges = [region.sge(0, device.attributes.maxMessageBytes + 1)];
        const write = { id: 1, opcode: 'WRITE', remote: region.remote(), sges } as const;
        assert.throws(() => queuePair.postSend(write), { code: 'ERR_RDMC_MESSAGE_TOO_LONG' });
        assert.equal(queuePair.state, 'RTS');
      }));

    it('more memory than may be locked: the error says how much is needed, and how to raise the limit', () => {
      assert.match(
        allocateWithin(64 << 10, MIB),
        /^ERR_RDMC_MEMLOCK .*at least \d+ bytes; it is 65536.*ulimit -l/,
      );
      assert.match(allocateWithin(64 * MIB, MIB), /^allocated/);
    });

    changing('an MTU that the port does not carry', async () => {
      const device = deviceOf(CHANGED);
      setMtu(CHANGED, 1500);
      try {
        await refused(
          { device, pathMtuBytes: 2048 },
          'ERR_RDMC_PATH_MTU',
          /packets of 1024 bytes, not of 2048/,
        );
      } finally {
        setMtu(CHANGED, MTU);
      }
      await opened({ device, pathMtuBytes: 2048 }, () => Promise.resolve());
    });

    changing('a port that is down: the error has the command that brings it up', async () => {
      const device = deviceOf(CHANGED);
      setLink(CHANGED, 'down');
      try {
        await refused({ device }, 'ERR_RDMC_PORT_DOWN', /ip link set DEV up/);
      } finally {
        setLink(CHANGED, 'up');
        await addressOf(CHANGED);
      }
      await opened({ device }, () => Promise.resolve());
    });
  });
}
