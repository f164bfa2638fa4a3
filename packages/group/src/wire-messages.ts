/*
 * What members tell each other about groups over the mesh: JSON, topic 'rdmc.group', in order per pair of members.
 *
 *   type       from → to        fields besides type and group
 *   create     each → each      nonce, agreement, address (to neighbours: their queue pairs here, else null)
 *   connected  each → each      nonce, to, transports    what the sender's queue pairs travel by: 'shm', 'tcp'
 *   abandon    each → each      nonce, to, code, reason, missing    the creation failed at the sender; `to` is null
 *                               where the sender had not heard of the receiver's
 *   sent       root → each      nonce, to, messages    the root has closed after that many
 *   stored     each → each      nonce, to              all of these are here, and passed on
 *   failed     each → each      nonce, to, culprit, code, reason
 *
 * `nonce` names this use of the id by the sender, `to` the receiver's, as told by its `create`. So news of a
 * group that is gone never meet its successor of the same id.
 */
import {
  list,
  nullable,
  opaqueRecord,
  openRecord,
  type Shape,
  type Shaped,
  text,
  tryShape,
  variants,
  whole,
} from '@rdmc/common/shapes';
import type { Agreement } from './agreement.js';
import type { PairAddress } from './records.js';

export const TOPIC = 'rdmc.group';
/** Request {group, nonce}: what the member knows about the failure of that group. Answer: Verdict or null. */
export const BLAME_TOPIC = 'rdmc.group.blame';

/** Kinds of ways that blocks travel; there are three today. */
const MAX_TRANSPORTS = 8;
/** Text of no more bytes than a frame of the mesh has; what is shown is clipped there. */
const words = text();
const name = { group: whole(), nonce: words };
const addressed = { ...name, to: words };
const verdict = { culprit: whole(), code: words, reason: words };

/** Others than these fields are those of the agreement's own version, which is compared first. */
const agreement = opaqueRecord({}) as Shape<Agreement>;
const address = opaqueRecord({}) as Shape<PairAddress>;
/** Open: fields of later versions must not hide the news that the versions differ. */
const message = variants(
  'type',
  {
    create: { ...name, agreement, address: nullable(address) },
    abandon: {
      ...name,
      to: nullable(words),
      code: words,
      reason: words,
      missing: nullable(list(whole())),
    },
    connected: { ...addressed, transports: list(words, 0, MAX_TRANSPORTS) },
    sent: { ...addressed, messages: whole() },
    stored: addressed,
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
/** Who is to blame, and for what. */
export type Verdict = Shaped<typeof verdictShape>;

/** What arrived, if it has the form of a message; the mesh carries bodies of other versions as well. */
export function parseMessage(body: unknown): WireMessage | undefined {
  return tryShape(message, body);
}

export function parseVerdict(body: unknown): Verdict | undefined {
  return tryShape(verdictShape, body);
}
