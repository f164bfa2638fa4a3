import { spawnSync } from 'node:child_process';
import { afterEach, describe, expect, it } from 'vitest';
import { type OpenDeviceOptions, openDevice, surveyRdmaDevices } from '../src/index.js';
import { FakeMachine, type FakeSettings, fakeLibrary, useFake } from './support/fake-library.js';
import { side, until } from './support/pair.js';

const ENOMEM = 12;
const EACCES = 13;
/** Of enum ibv_event_type. */
const GID_CHANGE = 18;
const restore: (() => void)[] = [];
afterEach(() => {
  for (const undo of restore.splice(0).reverse()) undo();
});

function fake(settings: FakeSettings = {}): void {
  restore.push(useFake(settings));
}

describe.skipIf(fakeLibrary.missing)(`opening an RDMA device ${fakeLibrary.missing}`, () => {
  it('has a description and its attributes', async () => {
    fake({ LIMITS: 'qp_wr=100,sge=3,inline=64,msg=1048576,cqe=1000' });
    const device = await openDevice();
    expect(device).toMatchObject({ kind: 'ibverbs', name: 'fake0', transport: 'roce' });
    expect(device.choice.reason).toContain('RoCE v2 over IPv4 (::ffff:10.0.0.1)');
    expect(device.details).toMatchObject({ gid: '::ffff:10.0.0.1', gidIndex: '2', activeMtuBytes: '4096' });
    expect(device.attributes).toMatchObject({
      maxSendDepth: 100,
      maxReceiveDepth: 99,
      maxSge: 3,
      maxInlineBytes: 64,
      maxMessageBytes: 1_048_576,
      maxCompletionQueueDepth: 1000,
      registeredMemoryIsRemote: true,
      sharedReceiveQueues: true,
      atomics: true,
    });
    await device.close();
  });

  it('lists devices with ports and addresses', () => {
    fake({ DEVICES: 'fake0,fake1', MTU: '1024' });
    const { devices, library } = surveyRdmaDevices();
    expect(library).toBe(fakeLibrary.path);
    expect(devices.map(({ name }) => name)).toEqual(['fake0', 'fake1']);
    const [port] = devices[0]!.ports;
    expect(port).toMatchObject({ number: 1, state: 'active', linkLayer: 'ethernet', activeMtuBytes: 1024 });
    expect(port!.gids[2]).toEqual({ index: 2, gid: '::ffff:10.0.0.1', type: 'roce-v2', netdev: 'lo' });
    expect(port!.gids.map(({ type }) => type)).toEqual(['roce-v1', 'roce-v2', 'roce-v2']);
  });

  it('InfiniBand is addressed by LID', async () => {
    fake({ LINK: 'infiniband' });
    const device = await openDevice({ device: 'fake0' });
    expect(device.transport).toBe('infiniband');
    expect(device.choice.reason).toContain('LID 7');
    await device.close();
  });

  const refusals: readonly [string, FakeSettings, OpenDeviceOptions, string, RegExp][] = [
    [
      'a name that does not exist',
      { DEVICES: 'fake0,fake1' },
      { device: 'mlx5_0' },
      'ERR_RDMC_UNKNOWN_DEVICE',
      /fake0, fake1/,
    ],
    ['a port that is down', { STATE: 'down' }, { device: 'fake0' }, 'ERR_RDMC_PORT_DOWN', /ip link set/],
    ['a port that does not exist', {}, { device: 'fake0', port: 2 }, 'ERR_RDMC_UNKNOWN_PORT', /ports 1 to 1/],
    ['a GID index beyond the table', {}, { gidIndex: 99 }, 'ERR_RDMC_GID_INDEX', /0 to 15, not 99/],
    ['an empty GID', {}, { gidIndex: 9 }, 'ERR_RDMC_GID_INDEX', /no GID at index 9/],
    ['a GID index that no address handle has', {}, { gidIndex: 300 }, 'ERR_RDMC_INVALID_OPTION', /0 to 255/],
    [
      'a port with RoCE v1 addresses alone',
      { GIDS: '1/fe80::1' },
      { device: 'fake0' },
      'ERR_RDMC_GID_INDEX',
      /no RoCE v2 address.*0: roce-v1 fe80::1/,
    ],
    ['a path MTU beyond the port', { MTU: '1024' }, { pathMtuBytes: 2048 }, 'ERR_RDMC_PATH_MTU', /1024/],
    ['a path MTU that is none', {}, { pathMtuBytes: 1500 }, 'ERR_RDMC_INVALID_OPTION', /1024, 2048/],
    [
      'no permission',
      { OPEN_ERRNO: String(EACCES) },
      { device: 'fake0' },
      'ERR_RDMC_PERMISSION',
      /uverbs0: add the user/,
    ],
    [
      'no device at all',
      { DEVICES: '' },
      { device: 'ibverbs' },
      'ERR_RDMC_NO_DEVICE',
      /finds no RDMA device/,
    ],
  ];
  it.each(refusals)(
    '%s: the error has a code, what was found, and what to do',
    async (_title, settings, options, code, text) => {
      fake(settings);
      await expect(openDevice({ device: 'ibverbs', ...options })).rejects.toMatchObject({
        code,
        message: expect.stringMatching(text),
      });
    },
  );

  it('reads the port again after an event', async () => {
    const machine = new FakeMachine('fake0');
    fake({ FOLDER: machine.folder, GIDS: '2/::ffff:10.0.0.1', MTU: '4096' });
    const { device, domain, queue, queuePair } = await side({ device: 'fake0' });
    const changed: string[] = [];
    device.onEvent(({ type }) => changed.push(type));
    fake({ GIDS: '2/::ffff:10.0.0.9', MTU: '1024' });
    machine.raise('fake0', GID_CHANGE, 1);
    await until('the event', () => changed[0]);
    const later = domain.createQueuePair({ sendQueue: queue, receiveQueue: queue });
    expect(queuePair.address).toMatchObject({ gid: expect.stringMatching(/0a000001$/), mtu: 4096 });
    expect(later.address).toMatchObject({ gid: expect.stringMatching(/0a000009$/), mtu: 1024 });
    await device.close();
  });

  it('only connects to addresses of its own type', async () => {
    fake();
    const [v1, v2] = [
      await side({ device: 'fake0', gidIndex: 0 }),
      await side({ device: 'fake0', gidIndex: 1 }),
    ];
    expect([v1, v2].map(({ queuePair }) => queuePair.address.gidType)).toEqual(['roce-v1', 'roce-v2']);
    await expect(v1.queuePair.connect(v2.queuePair.address)).rejects.toMatchObject({
      code: 'ERR_RDMC_CONNECT_FAILED',
      message: expect.stringContaining('type roce-v2, ours of type roce-v1'),
    });
    await Promise.all([v1.device.close(), v2.device.close()]);
  });

  it('probes which depth is granted', async () => {
    // 4 entries of 16 bytes each, and 192 bytes inline with a send.
    fake({ LIMITS: `qp_wr=4096,queue=${256 * 1500}` });
    const device = await openDevice();
    expect(device.attributes).toMatchObject({ maxSendDepth: 1024, maxReceiveDepth: 4095 });
    await device.close();
  });

  it('the memlock limit that memory for peers needs counts it twice', () => {
    fake({ REG_ERRNO: String(ENOMEM) });
    const script = `
      import { openDevice } from ${JSON.stringify(new URL('../dist/all.js', import.meta.url).href)};
      const domain = (await openDevice({ device: 'fake0' })).allocateProtectionDomain();
      await domain.allocate(1 << 20, { remoteWrite: true }).catch(({ code, message }) => console.log(code, message));
      process.exit();`;
    const limits = ['--memlock=65536', 'setpriv', '--bounding-set=-ipc_lock', '--inh-caps=-ipc_lock'];
    const node = [process.execPath, '--input-type=module', '-e', script];
    const run = spawnSync('prlimit', [...limits, ...node], { encoding: 'utf8' });
    expect(run.stdout, run.stderr).toMatch(
      /^ERR_RDMC_MEMLOCK .*for local use and for peers.* at least 2097152 bytes; it is 65536/,
    );
  });

  it('auto falls back to the soft device, with the reason', async () => {
    fake({ STATE: 'down' });
    const device = await openDevice();
    expect(device.kind).toBe('soft');
    expect(device.choice.reason).toBe('no RDMA device is usable: fake0: port 1 is down');
    await device.close();
  });

  it('memory that cannot be registered: no region is created, and the code has the reason', async () => {
    fake({ REG_ERRNO: String(ENOMEM) });
    const device = await openDevice();
    const domain = device.allocateProtectionDomain();
    // Root may exceed the memlock limit, so for root the cause is different.
    const codes = /^ERR_RDMC_(MEMLOCK|DEVICE_LIMIT)$/;
    const code = expect.stringMatching(codes);
    await expect(domain.allocate(1 << 20)).rejects.toMatchObject({ code, errno: ENOMEM });
    await domain.close();
    await device.close();
  });

  it('queues deeper than the device allows are refused with its limit', async () => {
    fake({ LIMITS: 'qp_wr=100,cqe=150,resize=0' });
    const device = await openDevice();
    const domain = device.allocateProtectionDomain();
    const queue = device.createCompletionQueue({ depth: 100 });
    const queues = { sendQueue: queue, receiveQueue: queue };
    const create = (sendDepth: number, receiveDepth: number) => () =>
      domain.createQueuePair({ ...queues, sendDepth, receiveDepth });
    expect(create(101, 10)).toThrow(
      expect.objectContaining({
        code: 'ERR_RDMC_INVALID_OPTION',
        message: expect.stringContaining('to 100'),
      }),
    );
    expect(create(80, 80)).toThrow(expect.objectContaining({ code: 'ERR_RDMC_DEVICE_LIMIT' }));
    expect(create(60, 60)).toThrow(
      expect.objectContaining({ message: expect.stringContaining('create it with that depth') }),
    );
    const queuePair = create(40, 40)();
    await queuePair.close();
    await device.close();
  });
});

describe('a library that cannot be used', () => {
  it.each([
    ['is missing', '/nowhere/libibverbs.so.1', 'ERR_RDMC_IBVERBS_MISSING', /RDMC_IBVERBS_LIBRARY/],
    ['is older than the symbols needed', 'libdl.so.2', 'ERR_RDMC_IBVERBS_TOO_OLD', /ibv_get_device_list/],
  ])('%s', async (_title, path, code, text) => {
    restore.push(useFake());
    process.env.RDMC_IBVERBS_LIBRARY = path;
    const { problem, devices } = surveyRdmaDevices();
    expect(devices).toEqual([]);
    expect(problem).toMatchObject({ code, message: expect.stringMatching(text) });
    await expect(openDevice({ device: 'ibverbs' })).rejects.toMatchObject({ code: 'ERR_RDMC_NO_DEVICE' });
    await expect(openDevice({ device: 'mlx5_0' })).rejects.toMatchObject({ code });
  });
});
