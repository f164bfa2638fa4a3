import { chooseDevice, type DeviceChoice } from '@rdmc/verbs';
import { usageError } from '../errors.js';
import { formatBitRate } from '../ui/units.js';
import type { DemoOptions } from './options.js';

/**
 * Bits per second of each member's link. Low enough that the processors of a small machine are not the limit: eight
 * members on two processors are at about a third of their load (docs/results/network.md).
 */
export const DEFAULT_LINK_RATE = 400e6;

/** How the members reach each other. */
export interface DemoRoute {
  readonly device: string;
  readonly transport: 'auto' | 'shm' | 'tcp';
  /** Bits per second of each direction of each member's link. */
  readonly linkRate: number | undefined;
  /** Why, or what that means; undefined for an RDMA device. */
  readonly reason: string | undefined;
}

function refuseLinks({ linkRate }: DemoOptions, why: string): void {
  if (linkRate !== undefined) throw usageError(`--link-rate: ${why}`);
}

function withLinks({ device, linkRate: given }: DemoOptions): DemoRoute {
  const linkRate = given === 'none' ? undefined : (given ?? DEFAULT_LINK_RATE);
  const reason =
    linkRate === undefined
      ? 'without a limit, as --link-rate none asks'
      : `each member has a link of its own, ${formatBitRate(linkRate)} in each direction`;
  return { device, transport: 'tcp', linkRate, reason };
}

/**
 * TCP with a link for each member, unless shared memory or an RDMA device is asked for: all members would share those.
 * @throws VerbsError as `chooseDevice`; CliError where a rate is given for something without links
 */
export function chooseRoute(
  options: DemoOptions,
  choose: (wish: { device: string; transport: string }) => DeviceChoice = chooseDevice,
): DemoRoute {
  const { device, transport } = options;
  const choice = choose({ device, transport });
  if (transport === 'shm') {
    refuseLinks(options, 'shared memory does not have links; leave out --transport shm');
    return { device, transport, linkRate: undefined, reason: 'asked for by --transport shm' };
  }
  if (choice.kind !== 'soft' && choice.isAskedFor) {
    refuseLinks(options, `only the soft device limits links; leave it out for ${choice.device}`);
    return { device, transport, linkRate: undefined, reason: undefined };
  }
  return withLinks(options);
}
