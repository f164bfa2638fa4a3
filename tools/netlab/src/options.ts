import { optionChecks } from '@rdmc/common';
import { DEFAULT_BURST, DEFAULT_LATENCY, MAX_HOSTS } from './constants.js';
import { invalidOption } from './errors.js';
import { parseRate } from './rate.js';

/** Speed of a link, in `tc`'s notation. */
export interface LinkOptions {
  /** Rate of each direction, such as `400mbit`. Without one the link is as fast as the machine. */
  readonly rate?: string;
  /** Token bucket of the shaper; must exceed one 64 KiB segment. Default `128kb` (KiB). */
  readonly burst?: string;
  /** Longest time a packet waits in the queue before the link; packets that would wait longer are dropped. Default `50ms`. */
  readonly latency?: string;
}

/** Description of a lab. */
export interface LabOptions extends LinkOptions {
  /** Number of hosts (named h0, h1, ...), or their names. At most 1000. */
  readonly hosts: number | readonly string[];
  /**
   * Delay of each direction of every host's link, such as `5ms` (needs the kernel's sch_netem). Two hosts are
   * two links apart, so a round trip between them grows by four times this.
   */
  readonly delay?: string;
  /** Share of packets lost in each direction of every host's link, such as `0.1%` (needs sch_netem). */
  readonly loss?: string;
  /** Number of racks, among which hosts are divided in order; each rack has a switch, joined to a core switch. Default 1. */
  readonly racks?: number;
  /** The link between each rack's switch and the core. Default: as a host's. */
  readonly uplink?: LinkOptions;
  /** Default: a unique one that contains this process's id. */
  readonly name?: string;
  /** The lab outlives this process, until it is destroyed. Default false. */
  readonly detached?: boolean;
}

/** A link's shape, complete. */
export interface Shape {
  readonly rate?: string;
  readonly burst: string;
  readonly latency: string;
  readonly delay?: string;
  readonly loss?: string;
}

export interface CheckedOptions {
  readonly hosts: readonly string[];
  readonly racks: number;
  readonly link: Shape;
  readonly uplink: Shape;
  readonly name: string | undefined;
  readonly detached: boolean;
}

const LINK_KEYS = ['rate', 'burst', 'latency'];
const KEYS = ['hosts', 'delay', 'loss', 'racks', 'uplink', 'name', 'detached', ...LINK_KEYS];
const HOST_NAME = /^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/;
const LAB_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/;
const SIZE = /^\d+(\.\d+)?([kmg]i?)?b?$/i;
const TIME = /^\d+(\.\d+)?(us|ms|s)$/;
const LOSS = /^\d+(\.\d+)?%$/;

const { integerOption, onlyKnownOptions } = optionChecks((_, message) => invalidOption(message));

function checkText(value: string | undefined, pattern: RegExp, what: string, example: string): void {
  if (value !== undefined && !pattern.test(value)) {
    throw invalidOption(`${what} is ${JSON.stringify(value)}: write it like ${example}`);
  }
}

export function checkDelay(value: string | undefined): void {
  checkText(value, TIME, 'delay', '5ms');
}

export function checkLoss(value: string | undefined): void {
  checkText(value, LOSS, 'loss', '0.1%');
}

function checkLink(link: LinkOptions): Shape {
  if (link.rate !== undefined) parseRate(link.rate);
  checkText(link.burst, SIZE, 'burst', '128kb');
  checkText(link.latency, TIME, 'latency', '50ms');
  return {
    ...(link.rate === undefined ? {} : { rate: link.rate }),
    burst: link.burst ?? DEFAULT_BURST,
    latency: link.latency ?? DEFAULT_LATENCY,
  };
}

function hostNames(hosts: number | readonly string[]): readonly string[] {
  const names = typeof hosts === 'number' ? Array.from({ length: hosts }, (_, i) => `h${i}`) : [...hosts];
  if (names.length < 1 || names.length > MAX_HOSTS) {
    throw invalidOption(`${names.length} hosts: a lab has 1 to ${MAX_HOSTS}`);
  }
  for (const name of names) {
    checkText(name, HOST_NAME, 'host name', 'web-1 (small letters, digits and dashes)');
  }
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw invalidOption(`host ${twice} is named twice`);
  return names;
}

export function checkOptions(options: LabOptions): CheckedOptions {
  onlyKnownOptions('lab', options, KEYS);
  if (typeof options.hosts === 'number' && !Number.isSafeInteger(options.hosts)) {
    throw invalidOption(`hosts is ${options.hosts}: give a whole number or a list of names`);
  }
  const hosts = hostNames(options.hosts);
  const racks = integerOption('lab', 'racks', options.racks ?? 1, 1, hosts.length);
  checkDelay(options.delay);
  checkLoss(options.loss);
  checkText(options.name, LAB_NAME, 'name', 'my-lab');
  if (options.uplink) onlyKnownOptions('uplink', options.uplink, LINK_KEYS);
  const { rate, burst, latency, delay, loss } = options;
  const own = { ...(rate && { rate }), ...(burst && { burst }), ...(latency && { latency }) };
  return {
    hosts,
    racks,
    link: { ...checkLink(own), ...(delay && { delay }), ...(loss && { loss }) },
    uplink: checkLink({ ...own, ...options.uplink }),
    name: options.name,
    detached: options.detached ?? false,
  };
}
