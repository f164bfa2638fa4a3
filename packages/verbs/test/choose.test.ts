import { describe, expect, it } from 'vitest';
import { chooseDevice, chooseGid, deviceProblem } from '../src/choose.js';
import { readEnvironment } from '../src/environment.js';
import { VerbsError } from '../src/errors.js';
import type { DeviceSurvey } from '../src/survey.js';
import type { SurveyedDevice, SurveyedGid, SurveyedPort } from '../src/surveyed-device.js';

const NOTHING = readEnvironment({});
const gid = (index: number, type: SurveyedGid['type'], text: string): SurveyedGid => {
  return { index, type, gid: text, netdev: 'eth0' };
};
const LINK_LOCAL_V1 = gid(0, 'roce-v1', 'fe80::1');
const LINK_LOCAL = gid(1, 'roce-v2', 'fe80::1');
const GLOBAL = gid(2, 'roce-v2', '2001:db8::1');
const IPV4 = gid(3, 'roce-v2', '::ffff:10.0.0.1');

function port(overrides: Partial<SurveyedPort> = {}): SurveyedPort {
  return {
    number: 1,
    state: 'active',
    linkLayer: 'ethernet',
    activeMtuBytes: 4096,
    maxMtuBytes: 4096,
    lid: 0,
    gids: [LINK_LOCAL_V1, LINK_LOCAL, GLOBAL, IPV4],
    ...overrides,
  };
}

function device(name: string, overrides: Partial<SurveyedDevice> = {}): SurveyedDevice {
  const file = '/dev/infiniband/uverbs0';
  return { name, file, transport: 'infiniband', error: '', errno: 0, ports: [port()], ...overrides };
}

const machine =
  (...devices: SurveyedDevice[]): (() => DeviceSurvey) =>
  () => ({ library: 'libibverbs.so.1', problem: undefined, devices });
const bare = (): DeviceSurvey => ({
  library: undefined,
  problem: new VerbsError('ERR_RDMC_IBVERBS_MISSING', 'no libibverbs'),
  devices: [],
});

describe('the address of a port', () => {
  it.each([
    ['IPv4 first', [LINK_LOCAL_V1, LINK_LOCAL, GLOBAL, IPV4], 3],
    ['then global IPv6', [LINK_LOCAL_V1, LINK_LOCAL, GLOBAL], 2],
    ['then link-local', [LINK_LOCAL_V1, LINK_LOCAL], 1],
  ])('RoCE v2: %s', (_title, gids, index) => {
    expect(chooseGid(port({ gids }))?.index).toBe(index);
  });

  it('RoCE v1 alone is not usable', () => {
    expect(chooseGid(port({ gids: [LINK_LOCAL_V1] }))).toBeUndefined();
  });

  it('InfiniBand: the LID', () => {
    const infiniband = port({ linkLayer: 'infiniband', lid: 7, gids: [gid(0, 'infiniband', 'fe80::2')] });
    expect(chooseGid(infiniband)).toEqual({ index: 0, title: 'LID 7' });
    expect(chooseGid({ ...infiniband, lid: 0 })).toBeUndefined();
  });
});

describe('auto', () => {
  it('chooses the first usable RDMA device, and its reason has port and address', () => {
    const down = device('mlx5_0', { ports: [port({ state: 'down' })] });
    const closed = device('mlx5_1', { error: 'Permission denied', errno: 13, ports: [] });
    const chosen = chooseDevice('auto', NOTHING, machine(down, closed, device('mlx5_2'), device('mlx5_3')));
    expect(chosen).toMatchObject({ device: 'mlx5_2', kind: 'ibverbs', port: 1, gidIndex: 3 });
    expect(chosen.reason).toBe('the first usable RDMA device; port 1, RoCE v2 over IPv4 (::ffff:10.0.0.1)');
  });

  it('chooses the second port if the first is down', () => {
    const ports = [port({ state: 'down' }), port({ number: 2, gids: [LINK_LOCAL] })];
    expect(chooseDevice('auto', NOTHING, machine(device('mlx5_0', { ports })))).toMatchObject({
      port: 2,
      gidIndex: 1,
    });
  });

  it.each([
    ['the library is missing', bare, 'no RDMA device is usable: no libibverbs'],
    ['there is no device', machine(), 'no RDMA device is usable: libibverbs finds no RDMA device'],
    [
      'the port is down',
      machine(device('mlx5_0', { ports: [port({ state: 'down' })] })),
      'no RDMA device is usable: mlx5_0: port 1 is down',
    ],
  ])('chooses the soft device if %s, with that reason', (_title, survey, reason) => {
    expect(chooseDevice('auto', NOTHING, survey)).toEqual({
      ...{ device: 'soft', kind: 'soft', reason },
      isAskedFor: false,
    });
  });

  it('chooses the soft device for its transports', () => {
    const chosen = chooseDevice({ transport: 'tcp' }, NOTHING, machine(device('mlx5_0')));
    expect(chosen).toMatchObject({ device: 'soft', reason: expect.stringContaining('tcp') });
  });
});

describe('wishes', () => {
  it('RDMC_DEVICE replaces auto, but not a named device', () => {
    const environment = readEnvironment({ RDMC_DEVICE: 'mlx5_1' });
    const survey = machine(device('mlx5_0'), device('mlx5_1'));
    expect(chooseDevice('auto', environment, survey)).toMatchObject({
      device: 'mlx5_1',
      reason: expect.stringMatching(/^RDMC_DEVICE asks for it; port 1, /),
      isAskedFor: true,
    });
    expect(chooseDevice('mlx5_0', environment, survey)).toMatchObject({ device: 'mlx5_0' });
    expect(chooseDevice('soft', environment, survey)).toMatchObject({ device: 'soft' });
  });

  it('chooses the port that is up if only the GID index is given', () => {
    const ports = [port({ state: 'down' }), port({ number: 2, gids: [LINK_LOCAL_V1] })];
    const wish = { device: 'mlx5_0', gidIndex: 0 };
    for (const asked of [wish, { gidIndex: 0 }]) {
      expect(chooseDevice(asked, NOTHING, machine(device('mlx5_0', { ports })))).toMatchObject({
        port: 2,
        gidIndex: 0,
      });
    }
  });

  it('a device of an unsupported transport is refused also by its name', () => {
    const survey = machine(device('siw0', { transport: 'iwarp' }));
    expect(() => chooseDevice('siw0', NOTHING, survey)).toThrow(
      expect.objectContaining({
        code: 'ERR_RDMC_NO_DEVICE',
        message: expect.stringContaining('siw0: iWARP'),
      }),
    );
  });

  it('options for port and GID index precede RDMC_PORT and RDMC_GID_INDEX', () => {
    const environment = readEnvironment({ RDMC_PORT: '2', RDMC_GID_INDEX: '0' });
    const survey = machine(device('mlx5_0', { ports: [port(), port({ number: 2 })] }));
    expect(chooseDevice('auto', environment, survey)).toMatchObject({ port: 2, gidIndex: 0 });
    const wish = { device: 'mlx5_0', port: 1, gidIndex: 2 };
    expect(chooseDevice(wish, environment, survey)).toMatchObject({ port: 1, gidIndex: 2 });
  });

  it('an unknown name: the error lists the known devices', () => {
    const survey = machine(device('mlx5_0'), device('rxe0'));
    expect(() => chooseDevice('mlx9', NOTHING, survey)).toThrow(
      expect.objectContaining({
        code: 'ERR_RDMC_UNKNOWN_DEVICE',
        message: "No device 'mlx9'; known are: mlx5_0, rxe0, soft, auto",
      }),
    );
  });

  it('a name without a library: the error names what is missing', () => {
    const choose = (): unknown => chooseDevice('mlx5_0', NOTHING, bare);
    expect(choose).toThrow(expect.objectContaining({ code: 'ERR_RDMC_IBVERBS_MISSING' }));
  });

  it('any RDMA device if none is usable: the error has the reason', () => {
    const survey = machine(device('mlx5_0', { ports: [port({ gids: [] })] }));
    expect(() => chooseDevice('ibverbs', NOTHING, survey)).toThrow(
      expect.objectContaining({
        code: 'ERR_RDMC_NO_DEVICE',
        message: expect.stringContaining('mlx5_0: port 1 has no RoCE v2 address'),
      }),
    );
  });

  it('a transport of the soft device for an RDMA device is refused', () => {
    const choose = (): unknown => chooseDevice({ device: 'mlx5_0', transport: 'shm' }, NOTHING, bare);
    expect(choose).toThrow(expect.objectContaining({ code: 'ERR_RDMC_INVALID_OPTION' }));
  });

  it.each([['RDMC_PORT'], ['RDMC_GID_INDEX']])('%s that is not a number is refused', (name) => {
    expect(() => readEnvironment({ [name]: 'one' })).toThrow(
      expect.objectContaining({ code: 'ERR_RDMC_INVALID_OPTION', message: expect.stringContaining(name) }),
    );
  });
});

describe('unusable devices', () => {
  it.each([
    ['iWARP', device('siw0', { transport: 'iwarp' }), /connection manager/],
    ['other transports', device('efa0', { transport: 'other' }), /reliable connections/],
    ['no permission', device('mlx5_0', { error: 'Permission denied' }), /uverbs0: Permission denied/],
    [
      'InfiniBand without a subnet manager',
      device('mlx5_0', { ports: [port({ linkLayer: 'infiniband' })] }),
      /no LID/,
    ],
  ])('%s', (_title, found, reason) => {
    expect(deviceProblem(found)).toMatch(reason);
  });
});
