/** What nodes tell each other over the mesh about a channel. All on one topic; JSON. */
import type { QueuePairAddress } from '@rdmc/verbs';
import type { CheckedChannelOptions } from './channel-options.js';
import { HIPOWER_PROTOCOL_VERSION } from './constants.js';
import type { Account, Confirmation, Mode, RemoteMemory } from './records.js';

export const TOPIC = 'rdmc.hipower';

/** What both sides must have been given alike. */
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

interface Common {
  readonly channel: string;
  /** Drawn by the requester when it is created. */
  readonly session: string;
  readonly generation: number;
}

/** Requester to responder: a generation begins. */
export interface OfferMessage extends Common {
  readonly type: 'offer';
  readonly parameters: Parameters;
  readonly address: QueuePairAddress;
  readonly remote: RemoteMemory;
}

/** Responder to requester: the former generation is over here, and this is what came of it. */
export interface AcceptMessage extends Common {
  readonly type: 'accept';
  readonly address: QueuePairAddress;
  readonly remote: RemoteMemory;
  readonly account: Account;
}

/** Responder to requester: they cannot work together. */
export interface RefuseMessage extends Common {
  readonly type: 'refuse';
  readonly code: string;
  readonly field: string;
  readonly reason: string;
}

/** Responder to requester: the connection of this generation broke. */
export interface BrokenMessage extends Common {
  readonly type: 'broken';
  readonly reason: string;
}

/** Responder to requester: everything up to the end flag is here. */
export interface FinishedMessage extends Common {
  readonly type: 'finished';
}

/** Either side goes. */
export interface ClosedMessage extends Common {
  readonly type: 'closed';
  readonly by: 'requester' | 'responder';
  /** Everything was sent, and released by the responder. */
  readonly complete: boolean;
  readonly reason: string;
}

export type WireMessage =
  | OfferMessage
  | AcceptMessage
  | RefuseMessage
  | BrokenMessage
  | FinishedMessage
  | ClosedMessage;

const TO_RESPONDER = new Set(['offer']);
const TYPES = new Set(['offer', 'accept', 'refuse', 'broken', 'finished', 'closed']);

/** The role at this end that a message is for. */
export function recipientOf(message: WireMessage): 'requester' | 'responder' {
  if (message.type === 'closed') return message.by === 'requester' ? 'responder' : 'requester';
  return TO_RESPONDER.has(message.type) ? 'responder' : 'requester';
}

/** Undefined for what no version of this protocol sends. */
export function parseMessage(body: unknown): WireMessage | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const { type, channel, session, generation } = body as Record<string, unknown>;
  const isKnown = TYPES.has(type as string) && typeof channel === 'string' && typeof session === 'string';
  if (!isKnown || !Number.isInteger(generation)) return undefined;
  const message = body as WireMessage;
  if (message.type === 'offer' && !(isObject(message.parameters) && hasEnd(message))) return undefined;
  if (message.type === 'accept' && !(isAccount(message.account) && hasEnd(message))) return undefined;
  return message;
}

function hasEnd({ address, remote }: OfferMessage | AcceptMessage): boolean {
  return (
    isObject(address) && isObject(remote) && Object.values(remote).every((word) => Number.isSafeInteger(word))
  );
}

function isAccount(account: unknown): boolean {
  if (!isObject(account)) return false;
  const { claimed, released, next } = account as Partial<Account>;
  return areWords(claimed) && areWords(released) && Number.isInteger(next);
}

function areWords(words: unknown): boolean {
  return Array.isArray(words) && words.every((word) => Number.isInteger(word));
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
