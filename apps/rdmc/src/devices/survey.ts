import { chooseDevice, type DeviceAttributes, openDevice } from '@rdmc/verbs';
import * as z from 'zod';
import { codeOf, messageOf } from '../errors.js';
import { findKernelDevices, findVerbsLibrary } from './found.js';

const transportEntry = z.strictObject({
  name: z.enum(['shm', 'tcp']),
  usable: z.boolean(),
  reach: z.string(),
  problem: z.string().nullable(),
});
export type TransportEntry = z.infer<typeof transportEntry>;

/** What `rdmc devices --json` prints. */
export const devicesDocument = z.strictObject({
  auto: z.strictObject({ device: z.string().nullable(), reason: z.string() }),
  environment: z.strictObject({ RDMC_DEVICE: z.string().nullable() }),
  devices: z.array(
    z.strictObject({
      name: z.string(),
      kind: z.string(),
      usable: z.boolean(),
      problem: z.string().nullable(),
      transports: z.array(transportEntry),
      limits: z.record(z.string(), z.union([z.number(), z.boolean()])),
    }),
  ),
  foundButNotDriven: z.array(z.strictObject({ name: z.string(), linkLayer: z.string(), state: z.string() })),
  verbsLibrary: z.string().nullable(),
});
export type DevicesDocument = z.infer<typeof devicesDocument>;

const REACH = { shm: 'processes of one host, same user', tcp: 'other hosts, other network namespaces' };

async function tryTransport(
  name: 'shm' | 'tcp',
): Promise<{ entry: TransportEntry; attributes?: DeviceAttributes }> {
  const entry = { name, reach: REACH[name] };
  try {
    const device = await openDevice({ device: 'soft', transport: name });
    const { attributes } = device;
    await device.close();
    return { entry: { ...entry, usable: true, problem: null }, attributes };
  } catch (error) {
    const problem = `${codeOf(error) ?? 'error'}: ${messageOf(error)}`;
    return { entry: { ...entry, usable: false, problem } };
  }
}

function autoChoice(): DevicesDocument['auto'] {
  try {
    return { ...chooseDevice() };
  } catch (error) {
    return { device: null, reason: `${codeOf(error) ?? 'error'}: ${messageOf(error)}` };
  }
}

/** Opens what can be opened, and says what came of it. Throws nothing. */
export async function surveyDevices(): Promise<DevicesDocument> {
  const tried = [await tryTransport('shm'), await tryTransport('tcp')];
  const transports = tried.map(({ entry }) => entry);
  const attributes = tried.find((attempt) => attempt.attributes)?.attributes;
  const usable = attributes !== undefined;
  return {
    auto: autoChoice(),
    environment: { RDMC_DEVICE: process.env.RDMC_DEVICE ?? null },
    devices: [
      {
        name: 'soft',
        kind: 'soft',
        usable,
        problem: usable ? null : transports[0]!.problem,
        transports,
        limits: { ...attributes },
      },
    ],
    foundButNotDriven: findKernelDevices(),
    verbsLibrary: findVerbsLibrary() ?? null,
  };
}
