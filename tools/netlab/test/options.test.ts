import { expect, test } from 'vitest';
import { parseRate } from '../src/index.js';
import { checkOptions, type LabOptions } from '../src/options.js';
import { hostsFile, hostTable, planLab } from '../src/plan.js';
import { shapeLines } from '../src/shape.js';

const code = (work: () => unknown) => {
  try {
    work();
  } catch (error) {
    return (error as { code: string }).code;
  }
  return 'no error';
};

test('rates are those of tc', () => {
  expect(parseRate('400mbit')).toBe(400e6);
  expect(parseRate('1.5Gbit')).toBe(1.5e9);
  expect(parseRate('50mbps')).toBe(400e6);
  expect(parseRate('1mibit')).toBe(2 ** 20);
  expect(parseRate('9600')).toBe(9600);
  for (const wrong of ['', '4x', 'mbit', '-1mbit', '0mbit', '1 mbit', '1mbit; ls']) {
    expect(
      code(() => parseRate(wrong)),
      wrong,
    ).toBe('ERR_RDMC_NETLAB_INVALID_OPTION');
  }
});

test('invalid labs are refused', () => {
  const wrong: object[] = [
    { hosts: 0 },
    { hosts: 1.5 },
    { hosts: 1001 },
    { hosts: ['a', 'a'] },
    { hosts: ['A'] },
    { hosts: ['a b'] },
    { hosts: ['../x'] },
    { hosts: 2, rate: '1 mbit' },
    { hosts: 2, burst: 'x' },
    { hosts: 2, latency: '5' },
    { hosts: 2, delay: '5ms; reboot' },
    { hosts: 2, loss: '0.1' },
    { hosts: 2, racks: 3 },
    { hosts: 2, name: 'a.b' },
    { hosts: 2, uplink: { delay: '1ms' } },
    { hosts: 2, bandwidth: '1mbit' },
  ];
  for (const options of wrong) {
    expect(
      code(() => checkOptions(options as LabOptions)),
      JSON.stringify(options),
    ).toBe('ERR_RDMC_NETLAB_INVALID_OPTION');
  }
});

test('hosts have names, namespaces, addresses and racks of their own', () => {
  const plan = planLab('x', checkOptions({ hosts: 300, racks: 4 }), undefined);
  expect(new Set(plan.hosts.map((host) => host.namespace)).size).toBe(300);
  expect(new Set(plan.hosts.map((host) => host.ipv4)).size).toBe(300);
  expect(new Set(plan.hosts.map((host) => host.ipv6)).size).toBe(300);
  expect(plan.hosts[299]).toMatchObject({ name: 'h299', ipv4: '10.77.1.44', ipv6: 'fd77::12c', rack: 3 });
  expect(plan.racks.map((rack) => rack.bridge)).toEqual(['rack0', 'rack1', 'rack2', 'rack3']);
  expect(Math.max(...plan.hosts.map((host) => host.port.length))).toBeLessThan(16);
});

test('one rack is one switch, and empty racks are not created', () => {
  expect(planLab('x', checkOptions({ hosts: 4 }), undefined).racks).toEqual([]);
  const plan = planLab('x', checkOptions({ hosts: 5, racks: 4 }), undefined);
  expect(plan.hosts.map((host) => host.rack)).toEqual([0, 0, 1, 1, 2]);
  expect(plan.racks).toHaveLength(3);
});

test('the files of the hosts', () => {
  const plan = planLab('x', checkOptions({ hosts: ['a', 'b'] }), undefined);
  expect(hostsFile(plan).split('\n').slice(2)).toEqual([
    '10.77.0.1 a',
    'fd77::1 a',
    '10.77.0.2 b',
    'fd77::2 b',
    '',
  ]);
  expect(hostTable(plan)).toBe('netlab.x.a a 10.77.0.1 fd77::1\nnetlab.x.b b 10.77.0.2 fd77::2\n');
});

test('the shape of a link as lines of tc', () => {
  const { link } = checkOptions({ hosts: 2, rate: '400mbit' });
  expect(shapeLines('eth0', link)).toEqual([
    'qdisc replace dev eth0 root handle 1: tbf rate 400mbit burst 128kb latency 50ms',
  ]);
  expect(shapeLines('eth0', checkOptions({ hosts: 2 }).link)).toEqual([]);
  expect(shapeLines('eth0', { ...link, delay: '5ms', loss: '1%' })).toEqual([
    'qdisc replace dev eth0 root handle 2: netem limit 100000 delay 5ms loss 1%',
    'qdisc replace dev eth0 parent 2: handle 3: tbf rate 400mbit burst 128kb latency 50ms',
  ]);
});
