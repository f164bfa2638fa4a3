import { constants } from 'node:os';
import { refusal } from '@rdmc/testing';
import { type Device, openDevice } from '@rdmc/verbs';
import { expect, it, onTestFinished } from 'vitest';
import { native } from '../src/native.js';

type Ports = { readonly port?: number; readonly lastPort?: number };

async function open(ports: Ports): Promise<Device> {
  const listen = { host: '127.0.0.1', ...ports };
  const device = await openDevice({ device: 'soft', transport: 'tcp', insecure: true, listen });
  onTestFinished(() => device.close());
  return device;
}

const portOf = (device: Device): number => native().deviceInfo(device.handle).port;

it('a device listens at the first free port of its range', async () => {
  const port = portOf(await open({}));
  const lastPort = Math.min(port + 64, 65_535);
  const next = portOf(await open({ port, lastPort }));
  expect(next).toBeGreaterThan(port);
  expect(next).toBeLessThanOrEqual(lastPort);
});

it('a device without a free port in its range is refused', async () => {
  const port = portOf(await open({}));
  const errno = constants.errno.EADDRINUSE;
  await expect(open({ port, lastPort: port })).rejects.toMatchObject({ code: 'ERR_RDMC_SYSTEM', errno });
});

it('a range has a first port, which is not above the last one', async () => {
  const refused = refusal('ERR_RDMC_INVALID_OPTION');
  await expect(open({ lastPort: 7000 })).rejects.toEqual(refused);
  await expect(open({ port: 0, lastPort: 7000 })).rejects.toEqual(refused);
  await expect(open({ port: 7000, lastPort: 6999 })).rejects.toEqual(refused);
});
