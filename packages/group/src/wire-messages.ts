/*
 * The messages between members about groups, over the mesh: JSON, topic 'rdmc.group', in order per pair of members.
 *
 *   type       from → to        fields besides type and group
 *   create     each → each      nonce, agreement, address (to neighbours: their queue pairs here, else null),
 *                               small (between root and receivers: the link for small messages, if there is one),
 *                               rings (in a group of many senders: the links between the two members),
 *                               table (the link of the table, with stable delivery)
 *                               In a group of more than MOST_DIRECT_MEMBERS: to and from the root, and between neighbours
 *   gathered   root → each      nonce, to, nonces    such a group: all members have created it; their nonces, in their order
 *   awaiting   root → each      nonce, to, absent, unconnected    such a group: the root waits for these members
 *   connected  each → each      nonce, to, transports    the transports of the sender's queue pairs: 'shm', 'tcp'. In such a
 *                               group each → root, and then root → each for all
 *   abandon    each → each      nonce, to, code, reason, missing    the creation failed at the sender; `to` is null
 *                               if the sender had not received the receiver's `create`
 *   sent       sender → each    nonce, to, messages    the sender has closed after that number of messages
 *   enlarge    parent → child   nonce, to, sender      a full ring is needed for the small messages of that sender
 *   enlarged   child → parent   nonce, to, sender, ring    its address; null: there is no memory (`small/ring-growth.ts`)
 *   stored     each → each      nonce, to              the sender has stored them all, and sent on its part
 *   arrived    receiver → root  nonce, to, messages, ages    with `arrivals`: the sender has these messages of blocks, since
 *                               so many microseconds each
 *   failed     each → each      nonce, to, culprit, code, reason    `culprit` is the failed member
 *   stopped    each → each      nonce, to, messages, from    the group failed; this member has stored that number of messages;
 *                               `from`: of each sender, in a group of many
 *
 * `nonce` identifies this use of the id by the sender, `to` that by the receiver, from its `create`. So messages of a
 * group that has ended do not reach its successor with the same id.
 */
import {
  list,
  nullable,
  opaqueRecord,
  openRecord,
  optional,
  type Shape,
  type Shaped,
  text,
  tryShape,
  variants,
  whole,
} from '@rdmc/common/shapes';
import type { Agreement } from './agreement.js';
import { MAX_MANY_MEMBERS, MOST_REPORTED_ARRIVALS } from './constants.js';
import type { PairAddress, RingAddresses, SmallAddress, TableAddress } from './records.js';

export const TOPIC = 'rdmc.group';
/**
 * Request {group, nonce}: asks for the member's verdict on the failure of that group. Answer: Verdict; {suspects}, the member that
 * it is asking itself; or null.
 */
export const INQUIRY_TOPIC = 'rdmc.group.blame';

/** The most transports in a message; there are three today. */
const MAX_TRANSPORTS = 8;
/** Text; a frame of the mesh bounds its length, and errors clip it. */
const words = text();
const name = { group: whole(), nonce: words };
const addressed = { ...name, to: words };
const verdict = { culprit: whole(), code: words, reason: words };

/** Not checked here: its fields depend on the version of the agreement, which is compared first. */
const agreement = opaqueRecord({}) as Shape<Agreement>;
const address = opaqueRecord({}) as Shape<PairAddress>;
const small = opaqueRecord({}) as Shape<SmallAddress>;
const rings = opaqueRecord({}) as Shape<RingAddresses>;
const table = opaqueRecord({}) as Shape<TableAddress>;
const arrivals = list(whole(), 0, MOST_REPORTED_ARRIVALS);
/** Open: unknown fields of later versions are ignored, so that the difference of versions is reported. */
const message = variants(
  'type',
  {
    create: {
      ...name,
      agreement,
      address: nullable(address),
      small: optional(small),
      rings: optional(rings),
      table: optional(table),
    },
    abandon: {
      ...name,
      to: nullable(words),
      code: words,
      reason: words,
      missing: nullable(list(whole())),
    },
    gathered: { ...addressed, nonces: list(words) },
    awaiting: { ...addressed, absent: list(whole()), unconnected: list(whole()) },
    connected: { ...addressed, transports: list(words, 0, MAX_TRANSPORTS) },
    sent: { ...addressed, messages: whole() },
    enlarge: { ...addressed, sender: whole() },
    enlarged: {
      ...addressed,
      sender: whole(),
      ring: nullable(openRecord({ address: whole(), rkey: whole() })),
    },
    stored: addressed,
    arrived: { ...addressed, messages: arrivals, ages: arrivals },
    stopped: { ...addressed, messages: whole(), from: optional(list(whole(), 0, MAX_MANY_MEMBERS)) },
    failed: { ...addressed, ...verdict },
  },
  openRecord,
);

export type WireMessage = Shaped<typeof message>;
export type CreateMessage = Extract<WireMessage, { type: 'create' }>;
export type AbandonMessage = Extract<WireMessage, { type: 'abandon' }>;
/** Messages within an existing group. */
export type MemberMessage = Exclude<WireMessage, CreateMessage | AbandonMessage>;
const verdictShape = openRecord(verdict);
/** The failed member (`culprit`), and its failure. */
export type Verdict = Shaped<typeof verdictShape>;

const suspicionShape = openRecord({ suspects: whole() });
/** A member that examines a failure of the group itself, and its suspect. */
export type Suspicion = Shaped<typeof suspicionShape>;

/** The body as a message, if it has the form of one; the mesh carries bodies of other versions as well. */
export function parseMessage(body: unknown): WireMessage | undefined {
  return tryShape(message, body);
}

export function parseVerdict(body: unknown): Verdict | undefined {
  return tryShape(verdictShape, body);
}

export function parseSuspicion(body: unknown): Suspicion | undefined {
  return tryShape(suspicionShape, body);
}
