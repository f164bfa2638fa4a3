import type { ChannelSetting } from './options.js';

/** Bytes. Chosen so that the estimate is rather too large. */
const FIXED = 32 * 2 ** 20;
const PER_DELIVERY = 24;
const PER_SLOT_OF_A_LINK = 1024;

/** Bytes that these channels need, as an estimate that is rather too large. */
export function channelBytes({ requesters, responders, messages, slots }: ChannelSetting): number {
  const links = requesters * responders;
  return FIXED + links * (messages * PER_DELIVERY + slots * PER_SLOT_OF_A_LINK);
}
