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
import type { Agreement } from './agreement.js';
import type { PairAddress } from './records.js';

export const TOPIC = 'rdmc.group';
/** Request {group, nonce}: what the member knows about the failure of that group. Answer: Verdict or null. */
export const BLAME_TOPIC = 'rdmc.group.blame';

export interface CreateMessage {
  readonly type: 'create';
  readonly group: number;
  readonly nonce: string;
  readonly agreement: Agreement;
  readonly address: PairAddress | null;
}

export interface AbandonMessage {
  readonly type: 'abandon';
  readonly group: number;
  readonly nonce: string;
  readonly to: string | null;
  readonly code: string;
  readonly reason: string;
  readonly missing: readonly number[] | null;
}

interface Addressed {
  readonly group: number;
  readonly nonce: string;
  readonly to: string;
}

export interface ConnectedMessage extends Addressed {
  readonly type: 'connected';
  readonly transports: readonly string[];
}

export interface SentMessage extends Addressed {
  readonly type: 'sent';
  readonly messages: number;
}

export interface StoredMessage extends Addressed {
  readonly type: 'stored';
}

export interface FailedMessage extends Addressed, Verdict {
  readonly type: 'failed';
}

/** Who is to blame, and for what. */
export interface Verdict {
  readonly culprit: number;
  readonly code: string;
  readonly reason: string;
}

/** Messages within an existing group. */
export type MemberMessage = ConnectedMessage | SentMessage | StoredMessage | FailedMessage;
export type WireMessage = CreateMessage | AbandonMessage | MemberMessage;

const REQUIRED: Record<WireMessage['type'], Record<string, string>> = {
  create: { nonce: 'string', agreement: 'object', address: 'object' },
  abandon: { nonce: 'string', code: 'string', reason: 'string' },
  connected: { nonce: 'string', to: 'string', transports: 'object' },
  sent: { nonce: 'string', to: 'string', messages: 'number' },
  stored: { nonce: 'string', to: 'string' },
  failed: { nonce: 'string', to: 'string', culprit: 'number', code: 'string', reason: 'string' },
};

/** What arrived, if it has the form of a message; the mesh carries bodies of other versions as well. */
export function parseMessage(body: unknown): WireMessage | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const fields = body as Record<string, unknown>;
  const type = fields.type as WireMessage['type'];
  if (!Object.hasOwn(REQUIRED, type) || !Number.isSafeInteger(fields.group)) return undefined;
  for (const [name, kind] of Object.entries(REQUIRED[type])) {
    if (typeof fields[name] !== kind) return undefined;
  }
  if (type === 'create' && fields.agreement === null) return undefined;
  if (type === 'connected' && !isListOfNames(fields.transports)) return undefined;
  return fields as unknown as WireMessage;
}

function isListOfNames(value: unknown): boolean {
  return Array.isArray(value) && value.length <= 8 && value.every((name) => typeof name === 'string');
}

export function parseVerdict(body: unknown): Verdict | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const { culprit, code, reason } = body as Record<string, unknown>;
  const valid = Number.isSafeInteger(culprit) && typeof code === 'string' && typeof reason === 'string';
  return valid ? (body as Verdict) : undefined;
}
