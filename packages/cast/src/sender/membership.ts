import type { Member } from '@rdmc/mesh';
import { describeAddress, isLoopbackHost } from '@rdmc/mesh/sockets';
import type { RackId } from '@rdmc/schedule';
import { duplicateHost } from '../checked-cast-options.js';
import { SENDER_ID } from '../constants.js';
import type { GroupFacts } from '../control/frames.js';
import { invalidOption } from '../errors.js';
import { byRack, type TransferChoice } from '../transfer-choice.js';
import type { ReceiverLink } from './receiver-link.js';

/** The addresses of the sender. */
export interface OwnAddress {
  /** The address to listen on. */
  readonly localHost: string;
  /** The address that receivers connect to. */
  readonly host: string;
}

/** @throws CastError ERR_RDMC_INVALID_OPTION where receivers cannot reach each other */
export function ownAddress(links: readonly ReceiverLink[], advertise: string | undefined): OwnAddress {
  const inside = links.find(({ channel }) => isLoopbackHost(channel.remoteHost));
  const outside = links.find(({ channel }) => !isLoopbackHost(channel.remoteHost));
  if (inside && outside) {
    throw invalidOption(
      `to: ${outside.name} cannot reach ${inside.name}, which is on loopback; give that receiver by this machine's address`,
    );
  }
  const { localHost } = links[0]!.channel;
  return { localHost, host: advertise ?? localHost };
}

/** Assigns ids to the links. Returns the sender, then the receivers in the order in which they were given. */
export function membersOf(own: OwnAddress, port: number, links: readonly ReceiverLink[]): Member[] {
  const receivers = links.map((link, index) => {
    link.id = SENDER_ID + 1 + index;
    return { id: link.id, host: link.channel.remoteHost, port: link.meshPort };
  });
  return [{ id: SENDER_ID, host: own.host, port }, ...receivers];
}

export function groupFacts(
  id: number,
  stream: number,
  links: readonly ReceiverLink[],
  { algorithm, blockBytes }: TransferChoice,
  senderRack: RackId,
): GroupFacts {
  const racks = links.flatMap(({ target }) => target.rack ?? []);
  const isRacked = racks.length === links.length;
  const ordered = isRacked && algorithm === 'chain' ? byRack(links, racks, senderRack) : links;
  return {
    id,
    stream,
    members: [SENDER_ID, ...ordered.map((link) => link.id)],
    algorithm,
    blockBytes,
    ...(algorithm === 'hybrid' && { racks: [senderRack, ...racks] }),
  };
}

/** @throws CastError ERR_RDMC_DUPLICATE_HOST where one receiver was given under two names */
export function refuseDuplicates(links: readonly ReceiverLink[]): void {
  const byInstance = new Map<string, ReceiverLink>();
  for (const link of links) {
    const instance = link.hello?.instance;
    if (instance === undefined) continue;
    const other = byInstance.get(instance);
    if (other) throw duplicateHost(other.name, link.name);
    byInstance.set(instance, link);
  }
}

export function describeOwn({ host }: OwnAddress, port: number): string {
  return describeAddress({ host, port });
}
