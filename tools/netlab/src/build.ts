import { CORE_BRIDGE, HOST_INTERFACE } from './constants.js';
import { ipv4WithBits, ipv6WithBits, namespacesOf, type Plan, type PlannedHost } from './plan.js';
import { explain, type Feature } from './probe.js';
import { kernelNeeds, shapeLines } from './shape.js';
import { batch } from './tools.js';

function bridgeLines(name: string): string[] {
  return [`link add ${name} type bridge mcast_snooping 0`, `link set ${name} up`];
}

function switchLines(plan: Plan): string[] {
  const racks = plan.racks.flatMap((rack) => [
    ...bridgeLines(rack.bridge),
    `link add ${rack.up} type veth peer name ${rack.down}`,
    `link set ${rack.up} master ${rack.bridge} up`,
    `link set ${rack.down} master ${CORE_BRIDGE} up`,
  ]);
  const ports = plan.hosts.map((host) => `link set ${host.port} master ${host.bridge} up`);
  return [...bridgeLines(CORE_BRIDGE), ...racks, ...ports];
}

function hostLines(host: PlannedHost): string[] {
  return [
    'link set lo up',
    `addr add ${ipv4WithBits(host)} brd + dev ${HOST_INTERFACE}`,
    // The address is unique: without duplicate detection it can be used at once.
    `addr add ${ipv6WithBits(host)} dev ${HOST_INTERFACE} nodad`,
    `link set ${HOST_INTERFACE} up`,
  ];
}

/** Neighbours of all hosts together that fit into the kernel's table, which is one for all namespaces. */
const MOST_LEARNT_NEIGHBOURS = 512;
/** The first bytes of the addresses of hosts: locally administered. */
const HARDWARE_PREFIX = '02:4e:4c:00';

/** The address of a host's interface, unique in its lab. */
function hardwareAddress(index: number): string {
  const bytes = [index >> 8, index & 0xff].map((byte) => byte.toString(16).padStart(2, '0'));
  return [HARDWARE_PREFIX, ...bytes].join(':');
}

/**
 * In a large lab each host knows the others' hardware addresses: the kernel's table of learnt neighbours has room for 1,024 of all
 * namespaces, and drops packets beyond it. Permanent ones are not counted.
 */
function neighbourLines(plan: Plan, own: PlannedHost): string[] {
  const count = plan.hosts.length;
  if (count * (count - 1) <= MOST_LEARNT_NEIGHBOURS) return [];
  return plan.hosts.flatMap((host, index) =>
    host === own
      ? []
      : [host.ipv4, host.ipv6].map(
          (address) =>
            `neigh add ${address} lladdr ${hardwareAddress(index)} dev ${HOST_INTERFACE} nud permanent`,
        ),
  );
}

/** All at once; if one fails, it still waits for the others, so that nothing is built while the lab is removed. */
async function together(work: readonly Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(work)).find((each) => each.status === 'rejected');
  if (failed) throw failed.reason;
}

async function shapeBothEnds(plan: Plan, host: PlannedHost): Promise<void> {
  await batch('tc', plan.switchNamespace, shapeLines(host.port, host.link));
  await batch('tc', host.namespace, shapeLines(HOST_INTERFACE, host.link));
}

/** Shapes both ends of a host's link. */
export async function shapeHost(plan: Plan, host: PlannedHost): Promise<void> {
  try {
    await shapeBothEnds(plan, host);
  } catch (error) {
    throw await explain(error, kernelNeeds(host.link));
  }
}

/** Shapes both ends of a rack's link to the core. */
export async function shapeUplink(plan: Plan, rack: number): Promise<void> {
  const { up, down, uplink } = plan.racks[rack]!;
  try {
    await batch(
      'tc',
      plan.switchNamespace,
      [up, down].flatMap((device) => shapeLines(device, uplink)),
    );
  } catch (error) {
    throw await explain(error, kernelNeeds(uplink));
  }
}

/** Creates namespaces, links, bridges, addresses and queues of a plan. After an error the caller must remove them. */
export async function buildLab(plan: Plan): Promise<void> {
  const needed: Feature[] = ['netns', 'veth', 'bridge'];
  try {
    await batch('ip', undefined, [
      ...namespacesOf(plan).map((name) => `netns add ${name}`),
      ...plan.hosts.map(
        (host, index) =>
          `link add ${HOST_INTERFACE} address ${hardwareAddress(index)} netns ${host.namespace} type veth ` +
          `peer name ${host.port} netns ${plan.switchNamespace}`,
      ),
    ]);
    await together([
      batch('ip', plan.switchNamespace, switchLines(plan)),
      ...plan.hosts.map((host) =>
        batch('ip', host.namespace, [...hostLines(host), ...neighbourLines(plan, host)]),
      ),
    ]);
  } catch (error) {
    throw await explain(error, needed);
  }
  for (const rack of plan.racks.keys()) await shapeUplink(plan, rack);
  try {
    await together(plan.hosts.map((host) => shapeBothEnds(plan, host)));
  } catch (error) {
    throw await explain(error, kernelNeeds(plan.hosts[0]!.link));
  }
}
