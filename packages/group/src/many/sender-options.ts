import { MAX_MANY_MEMBERS } from '../constants.js';
import { invalidOption } from '../errors.js';
import type { GroupOptions } from '../group-options.js';
import { choiceOption } from '../options.js';
import type { SenderOrder } from './senders.js';

/** Of blocks and their memory, and of series. */
const ONE_SENDER_OPTIONS = [
  'first',
  'algorithm',
  'blockBytes',
  'relay',
  'racks',
  'incoming',
  'receive',
  'receiveWindow',
  'sendWindow',
  'readyWindow',
  'sendBufferBytes',
  'arrivals',
] as const;

const WHERE = 'createGroup';

/** The senders of a group of many, in the order of the members; undefined: the root alone. @throws GroupError */
export function checkSenders(
  options: GroupOptions,
  members: readonly number[],
): { readonly senders: readonly number[] | undefined; readonly order: SenderOrder } {
  const { senders = 'root', order = 'sender', delivery } = options;
  choiceOption(WHERE, 'order', order, ['sender', 'total']);
  if (senders === 'root') {
    if (order === 'sender') return { senders: undefined, order };
    throw invalidOption(
      `${WHERE}: order 'total' is for groups of many senders; give senders: 'all' or a list`,
    );
  }
  if (order === 'total' && delivery === 'received') {
    throw invalidOption(`${WHERE}: order 'total' has stable delivery; leave delivery out, or give 'stable'`);
  }
  checkForMany(options, members.length);
  return { senders: Object.freeze(sendersOf(senders, members)), order };
}

function checkForMany(options: GroupOptions, members: number): void {
  const unfit = ONE_SENDER_OPTIONS.find((name) => options[name] !== undefined);
  if (unfit !== undefined) {
    throw invalidOption(`${WHERE}: ${unfit} is for groups of one sender; leave it out, or leave senders out`);
  }
  if (options.smallMessageBytes === 0) {
    throw invalidOption(`${WHERE}: a group of many senders needs rings; give smallMessageBytes of 1 or more`);
  }
  if (members > MAX_MANY_MEMBERS) {
    throw invalidOption(
      `${WHERE}: a group of many senders has at most ${MAX_MANY_MEMBERS} members; ${members} given`,
    );
  }
}

function sendersOf(senders: unknown, members: readonly number[]): number[] {
  if (senders === 'all') return [...members];
  const given = Array.isArray(senders) ? new Set<unknown>(senders) : new Set();
  const known = members.filter((id) => given.has(id));
  if (Array.isArray(senders) && known.length === senders.length && known.length > 0) return known;
  throw invalidOption(
    `${WHERE}: senders must be 'root', 'all', or an array of ids of members, each once; ${describe(senders)} given`,
  );
}

function describe(given: unknown): string {
  return typeof given === 'string' ? `'${given}'` : String(JSON.stringify(given));
}
