import type { Topic, TopicDirectory } from '@rdmc/node';
import { HiPowerError } from './errors.js';
import { parseMessage, recipientOf, TOPIC, type WireMessage } from './wire-messages.js';

/** The ends of channels at one node, by role and channel. */
export type ChannelDirectory = TopicDirectory<WireMessage, string>;

const MAX_WAITING_OFFERS = 4096;

export function subjectOf(role: 'requester' | 'responder', channel: string): string {
  return `${role} ${channel}`;
}

/** What members say to each other about channels. Offers wait until the responder exists. */
export const channelTopic: Topic<WireMessage, string> = {
  topic: TOPIC,
  parse: parseMessage,
  subjectOf: (message) => subjectOf(recipientOf(message), message.channel),
  waits: ({ type }) => type === 'offer',
  withdraws: (message, waiting) => message.type === 'closed' && message.session === waiting.session,
  maxWaiting: MAX_WAITING_OFFERS,
};

export function channelExists(role: string, channel: string): HiPowerError {
  return new HiPowerError(
    'ERR_RDMC_HIPOWER_CHANNEL_EXISTS',
    `This node has a ${role} '${channel}' already; close it first, or take another name`,
  );
}
