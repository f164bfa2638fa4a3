import { execFileSync } from 'node:child_process';
import { DataPlane, PreparedWorker } from '@rdmc/dataplane';
import { refusal, until } from '@rdmc/testing';
import { expect, it, onTestFinished } from 'vitest';
import { echoRecords } from './fixtures/echo.mjs';
import { ECHO, NO_ECHO_EVENTS } from './planes.js';

const protocols = [{ name: 'echo', module: ECHO }];
const device = { device: 'soft' };
const INVALID = refusal('ERR_RDMC_INVALID_OPTION');

function prepare(settings: Parameters<typeof PreparedWorker.start>[0] = { protocols }): PreparedWorker {
  const prepared = PreparedWorker.start(settings);
  onTestFinished(() => prepared.close());
  return prepared;
}

it('is the worker of the data plane that opens it', async () => {
  const prepared = prepare({ protocols, windowMs: 0 });
  expect(prepared.isWaiting).toBe(true);
  const plane = await DataPlane.open({ device, prepared });
  onTestFinished(() => plane.terminate());
  expect(prepared.isWaiting).toBe(false);
  const echo = plane.connect('echo', echoRecords, NO_ECHO_EVENTS);
  expect(await echo.echo(Buffer.of(1, 2))).toEqual(Uint8Array.of(1, 2));
  await prepared.close(); // the data plane has it
  expect(await echo.echo(Buffer.of(3))).toEqual(Uint8Array.of(3));
});

it('is used once', async () => {
  const prepared = prepare();
  const plane = await DataPlane.open({ device, prepared });
  onTestFinished(() => plane.terminate());
  await expect(DataPlane.open({ device, prepared })).rejects.toEqual(INVALID);
});

it('is not used after its end', async () => {
  const prepared = prepare();
  await prepared.close();
  await prepared.close();
  expect(prepared.isWaiting).toBe(false);
  await expect(DataPlane.open({ device, prepared })).rejects.toEqual(INVALID);
});

it('has the options of the worker, and the data plane those of the device', async () => {
  expect(() => prepare({ protocols, windowMs: -1 })).toThrow(INVALID);
  expect(() => prepare({ protocols, device } as never)).toThrow(refusal('ERR_RDMC_UNKNOWN_OPTION'));
  const prepared = prepare();
  const both = { device, prepared, windowMs: 1 } as never;
  await expect(DataPlane.open(both)).rejects.toEqual(refusal('ERR_RDMC_UNKNOWN_OPTION'));
  const signal = AbortSignal.abort();
  await expect(DataPlane.open({ device, prepared, signal })).rejects.toEqual(refusal('ERR_RDMC_ABORTED'));
  expect(prepared.isWaiting).toBe(true);
});

it('stops waiting where a protocol cannot be loaded', async () => {
  const missing = { protocols: [{ name: 'none', module: new URL('./fixtures/none.mjs', import.meta.url) }] };
  const prepared = prepare(missing);
  const opening = DataPlane.open({ device, prepared: prepare(missing) });
  await expect(opening).rejects.toEqual(refusal('ERR_RDMC_DATAPLANE_START_FAILED'));
  await until(() => !prepared.isWaiting);
});

it('does not keep the process alive', () => {
  const program = `
    import { PreparedWorker } from '@rdmc/dataplane';
    PreparedWorker.start({ protocols: [{ name: 'echo', module: new URL(${JSON.stringify(ECHO.href)}) }] });
    console.log('prepared');`;
  const args = ['--input-type=module', '-e', program];
  const printed = execFileSync(process.execPath, args, { encoding: 'utf8', cwd: import.meta.dirname });
  expect(printed).toBe('prepared\n');
});
