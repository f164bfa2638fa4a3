import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { findKernelDevices } from '../src/devices/found.js';
import { devicesDocument } from '../src/devices/survey.js';
import { Cli } from './support/cli.js';

/** Environment in which the command does not find an RDMA device on any machine. */
const NO_LIBRARY = { RDMC_IBVERBS_LIBRARY: '/nowhere/libibverbs.so.1' };

describe('rdmc devices', () => {
  it('lists the soft device, its transports and limits, and what auto takes', async () => {
    const { code, stdout } = await new Cli(['devices', '--json'], NO_LIBRARY).ended;
    expect(code).toBe(0);
    const { auto, devices } = devicesDocument.parse(JSON.parse(stdout));
    expect(auto.device).toBe('soft');
    expect(devices).toHaveLength(1);
    const [soft] = devices;
    expect(soft).toMatchObject({ kind: 'soft', usable: true, problem: null });
    expect(soft!.transports.map(({ name }) => name)).toEqual(['shm', 'tcp']);
    expect(soft!.transports[0]).toMatchObject({ usable: true });
    expect(soft!.limits.maxSge).toBe(4);
  });

  it('says so when RDMC_DEVICE chooses', async () => {
    const { stdout } = await new Cli(['devices', '--json'], { RDMC_DEVICE: 'soft' }).ended;
    const { auto, environment } = devicesDocument.parse(JSON.parse(stdout));
    expect(auto).toEqual({ device: 'soft', reason: 'RDMC_DEVICE asks for it', port: null, gidIndex: null });
    expect(environment.RDMC_DEVICE).toBe('soft');
  });

  it('tells people the same', async () => {
    const { stdout } = await new Cli(['devices'], NO_LIBRARY).ended;
    expect(stdout).toContain('auto takes soft: ');
    expect(stdout).toMatch(/^ {2}shm +usable/m);
    expect(stdout).toMatch(/queue pairs +[\d,]+/);
  });
});

describe('devices of the kernel', () => {
  it('are reported with link layer and state', () => {
    const folder = temporaryDirectory();
    const port = join(folder, 'mlx5_0', 'ports', '1');
    mkdirSync(port, { recursive: true });
    writeFileSync(join(port, 'link_layer'), 'Ethernet\n');
    writeFileSync(join(port, 'state'), '4: ACTIVE\n');
    mkdirSync(join(folder, 'rxe0'));
    expect(findKernelDevices(folder)).toEqual([
      { name: 'mlx5_0', linkLayer: 'Ethernet', state: '4: ACTIVE' },
      { name: 'rxe0', linkLayer: 'unknown', state: 'unknown' },
    ]);
    expect(findKernelDevices(join(folder, 'absent'))).toEqual([]);
  });
});
