import { type DeviceSurvey, type SurveyedDevice, VerbsError, type VerbsErrorCode } from '@rdmc/verbs';
import { describe, expect, it } from 'vitest';
import { checkHardware, type HardwareFacts } from '../src/doctor/hardware.js';

const FILE = '/dev/infiniband/uverbs0';
const port: SurveyedDevice['ports'][number] = {
  number: 1,
  state: 'active',
  linkLayer: 'ethernet',
  activeMtuBytes: 1024,
  maxMtuBytes: 4096,
  lid: 0,
  gids: [{ index: 1, gid: '::ffff:10.0.0.1', type: 'roce-v2', netdev: 'eth0' }],
};
const device = (overrides: Partial<SurveyedDevice> = {}): SurveyedDevice => {
  return {
    name: 'rxe0',
    file: FILE,
    transport: 'infiniband',
    error: '',
    errno: 0,
    ports: [port],
    ...overrides,
  };
};
const survey = (...devices: SurveyedDevice[]): DeviceSurvey => {
  return { library: '/usr/lib/libibverbs.so.1', problem: undefined, devices };
};
const withProblem = (code: VerbsErrorCode): DeviceSurvey => {
  return { library: undefined, problem: new VerbsError(code, 'what was found'), devices: [] };
};
const kernel = [{ name: 'rxe0', linkLayer: 'Ethernet', state: '4: ACTIVE' }];
const facts = (from: DeviceSurvey, known = kernel, verbsFiles = true): HardwareFacts => {
  return { survey: from, kernel: known, verbsFiles };
};

describe('RDMA hardware', () => {
  const cases: readonly [string, HardwareFacts, string, string, RegExp | null][] = [
    [
      'none, and no library',
      facts(withProblem('ERR_RDMC_IBVERBS_MISSING'), []),
      'rdma-library',
      'info',
      null,
    ],
    ['none', facts(survey(), []), 'rdma-devices', 'info', null],
    [
      'a device and no library',
      facts(withProblem('ERR_RDMC_IBVERBS_MISSING')),
      'rdma-library',
      'warn',
      /libibverbs1/,
    ],
    [
      'a library too old',
      facts(withProblem('ERR_RDMC_IBVERBS_TOO_OLD')),
      'rdma-library',
      'warn',
      /rdma-core/,
    ],
    [
      'an addon without libibverbs',
      facts(withProblem('ERR_RDMC_IBVERBS_NOT_BUILT')),
      'rdma-library',
      'warn',
      /libibverbs-dev/,
    ],
    ['no provider library', facts(survey()), 'rdma-rxe0', 'warn', /ibverbs-providers/],
    ['no device files', facts(survey(), kernel, false), 'rdma-rxe0', 'warn', /modprobe ib_uverbs/],
    [
      'no permission',
      facts(survey(device({ error: 'Permission denied', errno: 13, ports: [] }))),
      'rdma-rxe0',
      'warn',
      /uverbs0/,
    ],
    [
      'a port that is down',
      facts(survey(device({ ports: [{ ...port, state: 'down' }] }))),
      'rdma-rxe0',
      'warn',
      /ip link set/,
    ],
    [
      'no address',
      facts(survey(device({ ports: [{ ...port, gids: [] }] }))),
      'rdma-rxe0',
      'warn',
      /IP address/,
    ],
    ['a usable device', facts(survey(device())), 'rdma-rxe0', 'ok', null],
  ];
  it.each(cases)('%s', (_title, given, id, status, advice) => {
    const found = checkHardware(given).find((check) => check.id === id);
    expect(found?.status).toBe(status);
    if (advice) expect(found?.advice).toMatch(advice);
    else expect(found?.advice).toBeNull();
  });
});
