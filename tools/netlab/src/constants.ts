/** Prefix of all names of netlab: namespaces, state files. */
export const PREFIX = 'netlab';
/** One JSON file per lab, and one table of hosts for `netlab-rsh`. /run is empty after a reboot, as are namespaces. */
export const STATE_DIR = process.env.NETLAB_STATE_DIR ?? '/run/netlab';
/** Where `ip netns` keeps its names, and what it binds over /etc inside a namespace. */
export const NAMESPACE_DIR = '/run/netns';
export const ETC_DIR = '/etc/netns';

/** Longest queue and largest burst of a shaped link; a burst must exceed one 64 KiB segment, or segments are split. */
export const DEFAULT_BURST_BYTES = 128 * 2 ** 10;
export const DEFAULT_BURST = `${DEFAULT_BURST_BYTES / 2 ** 10}kb`;
export const DEFAULT_LATENCY = '50ms';

/** Hosts are 10.77.x.y/16 and fd77::x/64, counted from 1 in order. */
export const IPV4_PREFIX = '10.77';
export const IPV4_BITS = 16;
export const IPV6_PREFIX = 'fd77::';
export const IPV6_BITS = 64;
export const MAX_HOSTS = 1000;

/** The interface inside every host. */
export const HOST_INTERFACE = 'eth0';
/** The bridge between the racks; without racks, hosts are joined to it directly. */
export const CORE_BRIDGE = 'core';

/** netem's own queue is before the shaper; it must never overflow first. */
export const NETEM_LIMIT_PACKETS = 100_000;
/** How long killed processes may take to end before their namespaces are removed nevertheless. */
export const KILL_WAIT_MS = 2000;
export const KILL_POLL_MS = 5;

/** Queue of the class of a slow path; as long as a link's own at 400 Mbit/s and 50 ms. */
export const PATH_QUEUE_BYTES = 2_500_000;
/** Rate of other traffic: only the link limits it. */
export const PATH_FREE_RATE = '100gbit';
