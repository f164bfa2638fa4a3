import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { temporaryDirectory } from '@rdmc/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { openDevice, surveyRdmaDevices } from '../src/index.js';
import { FakeMachine, fakeLibrary, useFake } from './support/fake-library.js';

const EIO = 5;
const WITHOUT_HEADER = fileURLToPath(new URL('./native/without-header/build.mjs', import.meta.url));
/** One unit is compiled and an addon is linked. */
const BUILD_LIMIT_MS = 300_000;

const restore: (() => void)[] = [];
afterEach(() => {
  for (const undo of restore.splice(0).reverse()) undo();
});

/** Lets this process use a copy of the fake in which a function has another name: it lacks only that symbol. */
function useFakeWithout(symbol: string): void {
  const path = join(temporaryDirectory(), 'libibverbs.so.1');
  const library = readFileSync(fakeLibrary.path, 'latin1');
  const other = `${symbol.slice(0, -1)}#`;
  expect(library).toContain(`\0${symbol}\0`);
  writeFileSync(path, library.replaceAll(`\0${symbol}\0`, `\0${other}\0`), 'latin1');
  restore.push(useFake());
  process.env.RDMC_IBVERBS_LIBRARY = path;
}

describe.skipIf(fakeLibrary.missing)(`a library that lacks one symbol ${fakeLibrary.missing}`, () => {
  it.each(['ibv_resize_cq', 'ibv_create_srq', 'ibv_ack_async_event'])(
    '%s, which is needed: its name, its version, and what to install',
    async (symbol) => {
      useFakeWithout(symbol);
      const message = expect.stringMatching(
        new RegExp(`has no ${symbol} of version IBVERBS_1.1: install a newer libibverbs`),
      );
      const { problem, devices } = surveyRdmaDevices();
      expect(devices).toEqual([]);
      expect(problem).toMatchObject({ code: 'ERR_RDMC_IBVERBS_TOO_OLD', message });
      await expect(openDevice({ device: 'fake0' })).rejects.toMatchObject({
        code: 'ERR_RDMC_IBVERBS_TOO_OLD',
        message,
      });
      const auto = await openDevice();
      expect(auto).toMatchObject({ kind: 'soft', choice: { reason: message } });
      await auto.close();
    },
  );

  it('ibv_reg_dmabuf_mr and ibv_query_qp_data_in_order, which are newer: the device does not support them', async () => {
    useFakeWithout('ibv_reg_dmabuf_mr');
    const withoutDmabuf = await openDevice({ device: 'fake0' });
    expect(withoutDmabuf.attributes).toMatchObject({ dmabuf: false, ordersWrites: true });
    await withoutDmabuf.close();
    useFakeWithout('ibv_query_qp_data_in_order');
    const withoutOrder = await openDevice({ device: 'fake0' });
    const lacks = { ordersWrites: false, networkWeights: false };
    expect(withoutOrder.attributes).toMatchObject({ dmabuf: true, ...lacks });
    await withoutOrder.close();
  });
});

describe.skipIf(fakeLibrary.missing)(`a device with an error of its own ${fakeLibrary.missing}`, () => {
  it('is distinguished from a removed device', async () => {
    const machine = new FakeMachine('fake0');
    restore.push(useFake({ FOLDER: machine.folder, REG_ERRNO: String(EIO) }));
    const device = await openDevice({ device: 'fake0' });
    const domain = device.allocateProtectionDomain();
    await expect(domain.allocate(4096)).rejects.toMatchObject({
      code: 'ERR_RDMC_DEVICE_FAILED',
      errno: EIO,
      syscall: 'ibv_reg_mr',
      message: expect.stringMatching(/fake0 reports an error of its own .*see the kernel's log/),
    });
    machine.remove('fake0');
    await expect(domain.allocate(4096)).rejects.toMatchObject({ code: 'ERR_RDMC_DEVICE_REMOVED' });
    await device.close();
  });
});

const build = spawnSync(process.execPath, [WITHOUT_HEADER], { encoding: 'utf8', timeout: BUILD_LIMIT_MS });
const lacking = build.status === 2 ? build.stderr.trim() : '';

describe.skipIf(lacking)(`an addon built without the header of libibverbs ${lacking}`, () => {
  it('has the soft device, and requests for another get an error that names what is missing', () => {
    expect(build.status, build.stderr).toBe(0);
    const folder = build.stdout.trim();
    restore.push(() => rmSync(folder, { recursive: true }));
    const script = `
      import { openDevice, surveyRdmaDevices } from ${JSON.stringify(pathToFileURL(join(folder, 'dist', 'all.js')).href)};
      const codeOf = (options) => openDevice(options).catch(({ code }) => code);
      const { problem, devices } = surveyRdmaDevices();
      const auto = await openDevice();
      const { kind, choice } = auto;
      await auto.close();
      const asked = { named: await codeOf({ device: 'mlx5_0' }), any: await codeOf({ device: 'ibverbs' }) };
      const { code, message } = problem;
      console.log(JSON.stringify({ problem: { code, message }, devices, kind, reason: choice.reason, ...asked }));`;
    const run = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
    expect(run.stdout, run.stderr).not.toBe('');
    expect(JSON.parse(run.stdout)).toMatchObject({
      problem: {
        code: 'ERR_RDMC_IBVERBS_NOT_BUILT',
        message: expect.stringMatching(/built without .*libibverbs-dev.*npx rdmc-verbs-build/),
      },
      devices: [],
      kind: 'soft',
      reason: expect.stringContaining('built without'),
      named: 'ERR_RDMC_IBVERBS_NOT_BUILT',
      any: 'ERR_RDMC_NO_DEVICE',
    });
  });
});
