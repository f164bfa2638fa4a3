import { type Subscription, subscription } from '@rdmc/common';
import type { Mesh } from '@rdmc/mesh';
import type { Participant, Topic, TopicDirectory } from '@rdmc/node';

import { HiPowerError } from './errors.js';
import { parseMessage, recipientOf, TOPIC, type WireMessage } from './wire-messages.js';

/** The ends of channels at one node, by role and channel. */
export type ChannelDirectory = TopicDirectory<WireMessage, string>;

const MAX_WAITING_OFFERS = 4096;

export function subjectOf(role: 'requester' | 'responder', channel: string): string {
  return `${role} ${channel}`;
}

/** Messages of members about channels. Offers wait until the responder exists. */
export const channelTopic: Topic<WireMessage, string> = {
  topic: TOPIC,
  parse: parseMessage,
  subjectOf: (message) => subjectOf(recipientOf(message), message.channel),
  waits: ({ type }) => type === 'offer',
  withdraws: (message, waiting) => message.type === 'closed' && message.session === waiting.session,
  maxWaiting: MAX_WAITING_OFFERS,
};

/** An end of a channel at this node. */
export interface LocalEnd extends Participant<WireMessage> {
  readonly role: 'requester' | 'responder';
  readonly channel: string;
  peerLost(member: number, reason: string): void;
}

/**
 * Leads messages about its channel to an end, and tells it of members that are lost, those known already included.
 * @throws HiPowerError ERR_RDMC_HIPOWER_CHANNEL_EXISTS
 */
export function registerEnd(
  { directory, mesh }: { readonly directory: ChannelDirectory; readonly mesh: Mesh },
  end: LocalEnd,
): Subscription {
  const { role, channel } = end;
  const subject = subjectOf(role, channel);
  if (!directory.register(subject, end)) {
    throw new HiPowerError(
      'ERR_RDMC_HIPOWER_CHANNEL_EXISTS',
      `This node already has a ${role} '${channel}'; close it first, or choose another name`,
    );
  }
  const losses = [
    mesh.onFailure(({ member, reason }) => end.peerLost(member, reason)),
    mesh.onLeave((member) => end.peerLost(member, 'it left the mesh')),
  ];
  return subscription(() => {
    directory.unregister(subject, end);
    for (const each of losses) each.close();
  });
}
