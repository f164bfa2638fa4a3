import {
  chooseDevice,
  chooseGid,
  type DeviceAttributes,
  type DeviceSurvey,
  deviceProblem,
  openDevice,
  type SurveyedDevice,
  type SurveyedPort,
  surveyRdmaDevices,
} from '@rdmc/verbs';
import * as z from 'zod';
import { codeOf, messageOf } from '../errors.js';
import { findKernelDevices } from './found.js';

const transportEntry = z.strictObject({
  name: z.enum(['shm', 'tcp']),
  usable: z.boolean(),
  reach: z.string(),
  problem: z.string().nullable(),
});
export type TransportEntry = z.infer<typeof transportEntry>;

const gidEntry = z.strictObject({
  index: z.number().int(),
  gid: z.string(),
  type: z.string(),
  netdev: z.string(),
  /** Whether `auto` chooses this GID of the port. */
  auto: z.boolean(),
});

const portEntry = z.strictObject({
  number: z.number().int(),
  state: z.string(),
  linkLayer: z.string(),
  activeMtuBytes: z.number(),
  maxMtuBytes: z.number(),
  lid: z.number(),
  gids: z.array(gidEntry),
});
export type PortEntry = z.infer<typeof portEntry>;

const deviceEntry = z.strictObject({
  name: z.string(),
  kind: z.string(),
  usable: z.boolean(),
  problem: z.string().nullable(),
  /** How the soft device reaches others. */
  transports: z.array(transportEntry),
  /** Ports of RDMA devices; empty for the soft device. */
  ports: z.array(portEntry),
  limits: z.record(z.string(), z.union([z.number(), z.boolean()])),
});
export type DeviceEntry = z.infer<typeof deviceEntry>;

/** The document of `rdmc devices --json`. */
export const devicesDocument = z.strictObject({
  auto: z.strictObject({
    device: z.string().nullable(),
    reason: z.string(),
    port: z.number().nullable(),
    gidIndex: z.number().nullable(),
  }),
  environment: z.record(z.string(), z.string().nullable()),
  devices: z.array(deviceEntry),
  /** RDMA devices of the kernel that libibverbs does not list. */
  notListed: z.array(z.strictObject({ name: z.string(), linkLayer: z.string(), state: z.string() })),
  verbsLibrary: z.string().nullable(),
  verbsProblem: z.string().nullable(),
});
/** What `rdmc devices --json` prints. */
export type DevicesDocument = z.infer<typeof devicesDocument>;

const REACH = { shm: 'processes of one host, same user', tcp: 'other hosts, other network namespaces' };
const VARIABLES = ['RDMC_DEVICE', 'RDMC_PORT', 'RDMC_GID_INDEX', 'RDMC_IBVERBS_LIBRARY'];

function problemOf(error: unknown): string {
  return `${codeOf(error) ?? 'error'}: ${messageOf(error)}`;
}

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
    return { entry: { ...entry, usable: false, problem: problemOf(error) } };
  }
}

async function softEntry(): Promise<DeviceEntry> {
  const tried = [await tryTransport('shm'), await tryTransport('tcp')];
  const transports = tried.map(({ entry }) => entry);
  const attributes = tried.find((attempt) => attempt.attributes)?.attributes;
  const problem = attributes ? null : transports[0]!.problem;
  const usable = attributes !== undefined;
  return { name: 'soft', kind: 'soft', usable, problem, transports, ports: [], limits: { ...attributes } };
}

function portEntryOf(port: SurveyedPort): PortEntry {
  const chosen = chooseGid(port)?.index;
  return { ...port, gids: port.gids.map((gid) => ({ ...gid, auto: gid.index === chosen })) };
}

async function rdmaEntry(device: SurveyedDevice): Promise<DeviceEntry> {
  const base = {
    name: device.name,
    kind: 'ibverbs',
    transports: [],
    ports: device.ports.map(portEntryOf),
  };
  const unusable = (problem: string): DeviceEntry => ({ ...base, usable: false, problem, limits: {} });
  const problem = deviceProblem(device);
  if (problem) return unusable(problem);
  try {
    const opened = await openDevice({ device: device.name });
    const limits = { ...opened.attributes };
    await opened.close();
    return { ...base, usable: true, problem: null, limits };
  } catch (error) {
    return unusable(problemOf(error));
  }
}

function autoChoice(): DevicesDocument['auto'] {
  try {
    const { device, reason, port, gidIndex } = chooseDevice();
    return { device, reason, port: port ?? null, gidIndex: gidIndex ?? null };
  } catch (error) {
    return { device: null, reason: problemOf(error), port: null, gidIndex: null };
  }
}

function rdmaSurvey(): Pick<DeviceSurvey, 'library' | 'devices'> & { readonly problem: string | null } {
  try {
    const { library, devices, problem } = surveyRdmaDevices();
    return { library, devices, problem: problem ? problemOf(problem) : null };
  } catch (error) {
    return { library: undefined, devices: [], problem: problemOf(error) };
  }
}

/** Opens each device, and reports success or the problem. Never throws. */
export async function surveyDevices(): Promise<DevicesDocument> {
  const { library, devices, problem } = rdmaSurvey();
  const entries = [await softEntry()];
  for (const device of devices) entries.push(await rdmaEntry(device));
  const listed = new Set(devices.map(({ name }) => name));
  return {
    auto: autoChoice(),
    environment: Object.fromEntries(VARIABLES.map((name) => [name, process.env[name] ?? null])),
    devices: entries,
    notListed: findKernelDevices().filter(({ name }) => !listed.has(name)),
    verbsLibrary: library ?? null,
    verbsProblem: problem,
  };
}
