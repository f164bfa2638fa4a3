/** Messages of nodes about a channel, over the mesh. All on one topic; JSON. */
import {
  choice,
  flag,
  list,
  mapped,
  opaqueRecord,
  openRecord,
  type Shape,
  type Shaped,
  text,
  tryShape,
  variants,
  whole,
} from '@rdmc/common/shapes';
import { type QueuePairAddress, remoteKey } from '@rdmc/verbs';
import type { CheckedChannelOptions } from './channel-options.js';
import { HIPOWER_PROTOCOL_VERSION } from './constants.js';
import type { Confirmation, Mode } from './records.js';

export const TOPIC = 'rdmc.hipower';

/** Parameters that must be equal on both sides. */
export interface Parameters {
  readonly version: number;
  readonly slots: number;
  readonly slotBytes: number;
  readonly mode: Mode;
  readonly confirmation: Confirmation;
}

export function parametersOf({ slots, slotBytes, mode, confirmation }: CheckedChannelOptions): Parameters {
  return { version: HIPOWER_PROTOCOL_VERSION, slots, slotBytes, mode, confirmation };
}

const common = {
  channel: text(),
  /** Random; chosen by the requester when it is created. */
  session: text(),
  generation: whole(),
};
/** Words of the bitmaps are signed here and there, as `Int32Array` has them; so are counts that wrap. */
const word = whole(-0x8000_0000, 0xffff_ffff);
const words = list(word);
const rkey = mapped(whole(0, 0xffff_ffff), remoteKey);
const end = {
  address: opaqueRecord({}) as Shape<QueuePairAddress>,
  remote: openRecord({
    poolAddress: whole(),
    poolRkey: rkey,
    boardsAddress: whole(),
    boardsRkey: rkey,
  }),
};

/** Open: fields of later versions must not hide the news that the versions differ. */
const message = variants(
  'type',
  {
    /** Requester to responder: a generation begins. */
    offer: { ...common, parameters: opaqueRecord({}) as Shape<Parameters>, ...end },
    /** Responder to requester: the former generation has ended here, with its account. */
    accept: {
      ...common,
      ...end,
      account: openRecord({ claimed: words, released: words, next: word }),
    },
    /** Responder to requester: they cannot work together. */
    refuse: { ...common, code: text(), field: text(), reason: text() },
    /** Responder to requester: the connection of this generation failed. */
    broken: { ...common, reason: text() },
    /** Responder to requester: everything up to the end flag has arrived. */
    finished: common,
    /** Either side goes. `complete`: everything was sent, and released by the responder. */
    closed: { ...common, by: choice(['requester', 'responder']), complete: flag, reason: text() },
  },
  openRecord,
);

export type WireMessage = Shaped<typeof message>;
export type ClosedMessage = Extract<WireMessage, { type: 'closed' }>;
export type OfferMessage = Extract<WireMessage, { type: 'offer' }>;
export type AcceptMessage = Extract<WireMessage, { type: 'accept' }>;

/** The role at this end that gets the message. */
export function recipientOf(received: WireMessage): 'requester' | 'responder' {
  if (received.type === 'closed') return received.by === 'requester' ? 'responder' : 'requester';
  return received.type === 'offer' ? 'responder' : 'requester';
}

/** Undefined if no version of this protocol sends such a message. */
export function parseMessage(body: unknown): WireMessage | undefined {
  return tryShape(message, body);
}
