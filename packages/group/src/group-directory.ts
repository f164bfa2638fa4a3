import type { Topic, TopicDirectory } from '@rdmc/node';
import { MAX_WAITING_CREATIONS } from './constants.js';
import { parseMessage, TOPIC, type WireMessage } from './wire-messages.js';

/** The groups of one node, by id. */
export type GroupDirectory = TopicDirectory<WireMessage, number>;

/** The messages between members about groups. Creations wait until this member creates the group as well. */
export const groupTopic: Topic<WireMessage, number> = {
  topic: TOPIC,
  parse: parseMessage,
  subjectOf: ({ group }) => group,
  waits: ({ type }) => type === 'create',
  withdraws: (message, waiting) => message.type === 'abandon' && message.nonce === waiting.nonce,
  maxWaiting: MAX_WAITING_CREATIONS,
};
