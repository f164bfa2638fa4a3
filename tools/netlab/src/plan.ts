import { CORE_BRIDGE, IPV4_BITS, IPV4_PREFIX, IPV6_BITS, IPV6_PREFIX, PREFIX } from './constants.js';
import type { CheckedOptions, Shape } from './options.js';

/** A host of a lab: a network namespace joined to its rack's switch by one link. */
export interface Host {
  readonly name: string;
  /** Its name for `ip netns`. */
  readonly namespace: string;
  readonly ipv4: string;
  readonly ipv6: string;
  readonly rack: number;
}

export interface PlannedHost extends Host {
  /** The switch's end of the host's link. */
  readonly port: string;
  readonly bridge: string;
  link: Shape;
  /** Rates of what it sends to some hosts, in the order in which they were first slowed; null: the link's own. */
  readonly paths: Record<string, string | null>;
}

export interface PlannedRack {
  readonly bridge: string;
  /** The rack's and the core's end of the link between them. */
  readonly up: string;
  readonly down: string;
  uplink: Shape;
}

/** A lab as data: the description for building, and the content of its state file. */
export interface Plan {
  readonly version: 1;
  readonly name: string;
  /** The process that owns it; a detached lab does not have one. */
  readonly owner: { readonly pid: number; readonly startTime: string } | undefined;
  /** The namespace of all bridges. Host names have small letters, so they cannot collide. */
  readonly switchNamespace: string;
  readonly hosts: readonly PlannedHost[];
  /** Empty if all hosts share one switch. */
  readonly racks: readonly PlannedRack[];
}

export const namespaceOf = (lab: string, what: string): string => `${PREFIX}.${lab}.${what}`;

export function planLab(name: string, options: CheckedOptions, owner: Plan['owner']): Plan {
  const perRack = Math.ceil(options.hosts.length / options.racks);
  const hosts = options.hosts.map((host, index) => {
    const number = index + 1;
    const rack = Math.floor(index / perRack);
    return {
      name: host,
      namespace: namespaceOf(name, host),
      ipv4: `${IPV4_PREFIX}.${number >> 8}.${number & 0xff}`,
      ipv6: `${IPV6_PREFIX}${number.toString(16)}`,
      rack,
      port: `p${index}`,
      bridge: options.racks > 1 ? `rack${rack}` : CORE_BRIDGE,
      link: options.link,
      paths: {},
    };
  });
  const racks = Array.from({ length: options.racks > 1 ? hosts.at(-1)!.rack + 1 : 0 }, (_, rack) => ({
    bridge: `rack${rack}`,
    up: `up${rack}`,
    down: `down${rack}`,
    uplink: options.uplink,
  }));
  return { version: 1, name, owner, switchNamespace: namespaceOf(name, 'SWITCH'), hosts, racks };
}

export function namespacesOf(plan: Plan): string[] {
  return [...plan.hosts.map((host) => host.namespace), plan.switchNamespace];
}

export const ipv4WithBits = (host: Host): string => `${host.ipv4}/${IPV4_BITS}`;
export const ipv6WithBits = (host: Host): string => `${host.ipv6}/${IPV6_BITS}`;

/** /etc/hosts of every host of the lab. */
export function hostsFile(plan: Plan): string {
  const own = ['127.0.0.1 localhost', '::1 localhost ip6-localhost ip6-loopback'];
  const all = plan.hosts.flatMap((host) => [`${host.ipv4} ${host.name}`, `${host.ipv6} ${host.name}`]);
  return `${[...own, ...all].join('\n')}\n`;
}

/** A line per host for `netlab-rsh`: namespace, name, addresses. */
export function hostTable(plan: Plan): string {
  return plan.hosts.map((host) => `${host.namespace} ${host.name} ${host.ipv4} ${host.ipv6}\n`).join('');
}
