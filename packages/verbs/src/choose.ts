import { MAX_GID_INDEX, readEnvironment, type VerbsEnvironment } from './environment.js';
import { VerbsError } from './errors.js';
import { type DeviceSurvey, surveyRdmaDevices } from './survey.js';
import type { SurveyedDevice, SurveyedGid, SurveyedPort } from './surveyed-device.js';

/** The device that `openDevice` opens, with the reason: for logs and `rdmc devices`. */
export interface DeviceChoice {
  /** `soft`, or the name of an RDMA device. */
  readonly device: string;
  /** Which implementation opens it. */
  readonly kind: 'soft' | 'ibverbs';
  /** Why this device, as text for people. */
  readonly reason: string;
  /** For an RDMA device: the port, from 1, and its address. */
  readonly port?: number;
  /** For an RDMA device: the index of its address (GID). */
  readonly gidIndex?: number;
  /** `ethernet` (RoCE) or `infiniband`: devices with different link layers cannot connect to each other. */
  readonly linkLayer?: string;
  /** The device was named, by its option or by RDMC_DEVICE: no other device may be used. */
  readonly isAskedFor: boolean;
}

/** The kind of device: devices of one kind can connect to each other, whatever their names are. */
export function networkOf({ kind, linkLayer }: DeviceChoice): 'soft' | 'roce' | 'infiniband' {
  if (kind === 'soft') return 'soft';
  return linkLayer === 'infiniband' ? 'infiniband' : 'roce';
}

/** Requested properties; everything else is detected. */
export interface DeviceWish {
  /** `auto`, `soft`, `ibverbs` (any RDMA device), or a device's name. */
  readonly device?: string | undefined;
  /** Port of an RDMA device, from 1. */
  readonly port?: number | undefined;
  /** Index of an address (GID) of that port, from 0. */
  readonly gidIndex?: number | undefined;
  /** `shm` and `tcp` are transports of the soft device. */
  readonly transport?: string | undefined;
}

const NOT_USABLE = 'ERR_RDMC_NO_DEVICE';

function isIpv4Mapped(gid: string): boolean {
  return /^::ffff:\d+\.\d+\.\d+\.\d+$/i.test(gid);
}

function isLinkLocal(gid: string): boolean {
  return /^fe[89ab]/i.test(gid);
}

/** Kinds of RoCE addresses, in order of preference: first those that routers and firewalls handle best. */
const GID_RANKS: readonly (readonly [title: string, fits: (gid: SurveyedGid) => boolean])[] = [
  ['RoCE v2 over IPv4', ({ type, gid }) => type === 'roce-v2' && isIpv4Mapped(gid)],
  ['RoCE v2 over global IPv6', ({ type, gid }) => type === 'roce-v2' && !isLinkLocal(gid)],
  ['RoCE v2 over link-local IPv6', ({ type }) => type === 'roce-v2'],
];

/** The best address of a port, and its kind in words. InfiniBand is addressed by LID, and its GID 0 names the port. */
export function chooseGid(
  port: SurveyedPort,
): { readonly index: number; readonly title: string } | undefined {
  if (port.linkLayer === 'infiniband')
    return port.lid === 0 ? undefined : { index: 0, title: `LID ${port.lid}` };
  for (const [title, fits] of GID_RANKS) {
    const found = port.gids.find((gid) => gid.index <= MAX_GID_INDEX && fits(gid));
    if (found) return { index: found.index, title: `${title} (${found.gid})` };
  }
  return undefined;
}

/** Why a port cannot be used; undefined if it can. */
function portProblem(port: SurveyedPort): string | undefined {
  if (port.state !== 'active') return `port ${port.number} is ${port.state}`;
  if (chooseGid(port)) return undefined;
  return port.linkLayer === 'infiniband'
    ? `port ${port.number} has no LID: no subnet manager has set it up`
    : `port ${port.number} has no RoCE v2 address`;
}

/** An address that was requested is not searched for. */
function wishProblem(port: SurveyedPort, wish: DeviceWish): string | undefined {
  return wish.gidIndex === undefined ? portProblem(port) : downProblem(port);
}

/** Why devices of this transport cannot be used, also if they are named. */
function transportProblem({ transport }: SurveyedDevice): string | undefined {
  if (transport === 'infiniband') return undefined;
  return transport === 'iwarp'
    ? 'iWARP connections need a connection manager, which is not used here'
    : 'it has no reliable connections as InfiniBand and RoCE have them';
}

/** Why `auto` skips a device; undefined if the device can be used. */
export function deviceProblem(device: SurveyedDevice, wish: DeviceWish = {}): string | undefined {
  if (device.error) return `${device.file}: ${device.error}`;
  const foreign = transportProblem(device);
  if (foreign) return foreign;
  const ports = device.ports.filter(({ number }) => wish.port === undefined || number === wish.port);
  if (ports.length === 0) return `it has no port ${wish.port}`;
  const problems = ports.map((port) => wishProblem(port, wish));
  return problems.includes(undefined) ? undefined : problems.join(', ');
}

function downProblem({ state, number }: SurveyedPort): string | undefined {
  return state === 'active' ? undefined : `port ${number} is ${state}`;
}

/** Port and address of a device, unless they were requested. */
function settle(device: SurveyedDevice, wish: DeviceWish, why: string): DeviceChoice {
  const usable = device.ports.find((port) => !wishProblem(port, wish));
  const port =
    wish.port === undefined ? (usable ?? device.ports[0]) : device.ports.find((p) => p.number === wish.port);
  const number = port?.number ?? wish.port ?? 1;
  const gid = port && chooseGid(port);
  if (port?.state === 'active' && !gid && wish.gidIndex === undefined) {
    throw new VerbsError(
      'ERR_RDMC_GID_INDEX',
      `${device.name}: ${portProblem(port)}. Give its network interface an address, or ask for one of ` +
        `another type: gidIndex or RDMC_GID_INDEX (${describeGids(port)})`,
    );
  }
  const address =
    wish.gidIndex === undefined
      ? (gid?.title ?? 'no usable address')
      : `GID index ${wish.gidIndex} as asked for`;
  return {
    device: device.name,
    kind: 'ibverbs',
    reason: `${why}; port ${number}${wish.port === undefined ? '' : ' as asked for'}, ${address}`,
    port: number,
    gidIndex: wish.gidIndex ?? gid?.index ?? 0,
    linkLayer: port?.linkLayer ?? 'ethernet',
    isAskedFor: false,
  };
}

function describeGids({ gids }: SurveyedPort): string {
  return gids.map(({ index, type, gid }) => `${index}: ${type} ${gid}`).join(', ') || 'it has none';
}

function anyDevice(survey: DeviceSurvey, wish: DeviceWish): DeviceChoice | string {
  if (survey.problem) return survey.problem.message;
  if (survey.devices.length === 0) return 'libibverbs finds no RDMA device';
  const usable = survey.devices.find((device) => !deviceProblem(device, wish));
  if (!usable) return survey.devices.map((each) => `${each.name}: ${deviceProblem(each, wish)}`).join('; ');
  const others = survey.devices.length - 1;
  return settle(
    usable,
    wish,
    others === 0 ? 'the RDMA device of this machine' : 'the first usable RDMA device',
  );
}

function named(name: string, survey: DeviceSurvey, wish: DeviceWish, origin: string): DeviceChoice {
  const found = survey.devices.find((device) => device.name === name);
  const foreign = found && !found.error && transportProblem(found);
  if (foreign) throw new VerbsError(NOT_USABLE, `${name}: ${foreign}`);
  if (found) return settle(found, wish, origin);
  if (survey.problem)
    throw new VerbsError(survey.problem.code, `Device '${name}': ${survey.problem.message}`);
  const known = [...survey.devices.map((device) => device.name), 'soft', 'auto'];
  throw new VerbsError('ERR_RDMC_UNKNOWN_DEVICE', `No device '${name}'; known are: ${known.join(', ')}`);
}

/**
 * The device that `openDevice` would open, with the reason.
 * @throws VerbsError ERR_RDMC_UNKNOWN_DEVICE (with the known devices), ERR_RDMC_NO_DEVICE if an RDMA device
 *   is requested and none is usable, ERR_RDMC_IBVERBS_MISSING, ERR_RDMC_INVALID_OPTION
 */
export function chooseDevice(
  wish: string | DeviceWish = {},
  environment: VerbsEnvironment = readEnvironment(),
  survey: () => DeviceSurvey = () => surveyRdmaDevices(environment.library),
): DeviceChoice {
  const asked = typeof wish === 'string' ? { device: wish } : wish;
  const requested = asked.device ?? 'auto';
  const wanted = requested === 'auto' && environment.device ? environment.device : requested;
  const origin = wanted === requested ? 'asked for' : 'RDMC_DEVICE asks for it';
  const full: DeviceWish = {
    port: asked.port ?? environment.port,
    gidIndex: asked.gidIndex ?? environment.gidIndex,
  };
  const softTransport = asked.transport === 'shm' || asked.transport === 'tcp';
  const isAskedFor = wanted !== 'auto';
  if (wanted === 'soft') return { device: 'soft', kind: 'soft', reason: origin, isAskedFor };
  if (wanted === 'auto' && softTransport) {
    const reason = `transport ${asked.transport} is the soft device's`;
    return { device: 'soft', kind: 'soft', reason, isAskedFor };
  }
  if (softTransport) {
    throw new VerbsError(
      'ERR_RDMC_INVALID_OPTION',
      `transport ${asked.transport} is the soft device's; leave it out for device ${wanted}`,
    );
  }
  const found = survey();
  if (wanted !== 'auto' && wanted !== 'ibverbs') return { ...named(wanted, found, full, origin), isAskedFor };
  const any = anyDevice(found, full);
  if (typeof any !== 'string') return { ...any, isAskedFor };
  if (wanted === 'auto') {
    return { device: 'soft', kind: 'soft', reason: `no RDMA device is usable: ${any}`, isAskedFor };
  }
  throw new VerbsError(NOT_USABLE, `No RDMA device is usable: ${any}. Run rdmc doctor for advice.`);
}
