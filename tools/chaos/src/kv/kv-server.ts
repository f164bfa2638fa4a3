import type { ChildProcess } from 'node:child_process';
import { WatchedProcess } from '@rdmc/testing/watched-process';
import type { Action } from '../checker/history.js';
import type { Outcome } from '../cluster/member-process.js';
import type { Ask } from '../member/messages.js';
import { command, NOT_SENT, type Reply } from './resp.js';

const ADMIN_MS = 10_000;

/** Reports to the parent: the port for clients, the number of the layout that is served, and the term that begins or is over. */
interface Told {
  readonly ready?: number;
  readonly serving?: number;
  readonly leading?: number;
  readonly waiting?: string;
  /** Slots were handed over between servers that run. */
  readonly moved?: { readonly slots: number };
  readonly balanced?: boolean;
  /** The server was removed. */
  readonly removed?: number;
  /** The connection with a member has ended. */
  readonly memberLost?: { readonly member: number };
}

/** A process of `kv server` or `kv coordinator`. */
export class KvProcess extends WatchedProcess<Told, 'ready'> {
  /** Both reject when the process ends before. */
  readonly ready: Promise<number>;
  readonly serving: Promise<number>;
  #port = 0;

  constructor(
    readonly name: string,
    child: ChildProcess,
    private readonly gate?: string,
  ) {
    super(child, 'ready', { name });
    this.ready = this.#told('ready').then((port) => {
      this.#port = port;
      return port;
    });
    this.serving = this.#told('serving');
    for (const promise of [this.ready, this.serving]) promise.catch(() => {});
  }

  /** The number of a server. */
  get id(): string {
    return this.name.replace(/\D/g, '');
  }

  /** Resolves when this member has reported the loss of another one. */
  loses(id: string): Promise<true> {
    const isIt = ({ memberLost }: Told): boolean => String(memberLost?.member) === id;
    return this.until(() => this.events.some(isIt) || undefined, `the loss of member ${id}`);
  }

  /** Resolves when the coordinator has reported so many hand-overs. */
  moves(count: number): Promise<true> {
    return this.until(() => this.#count('moved') >= count || undefined, `${count} hand-overs`);
  }

  /** Resolves when each server has its share of the slots, once more often than `before`. */
  balanced(before: number): Promise<true> {
    return this.until(() => this.balances > before || undefined, 'each server has its share');
  }

  /** How often the coordinator has reported that each server has its share. */
  get balances(): number {
    return this.#count('balanced');
  }

  get isRemoved(): boolean {
    return this.#count('removed') > 0;
  }

  /** The answer to a request of `kv admin`; undefined: none, or an error. */
  async admin(...words: readonly string[]): Promise<string | undefined> {
    const reply = await this.adminReply(...words);
    return reply && 'value' in reply ? String(reply.value) : undefined;
  }

  /** The same with errors; undefined: there is none. */
  async adminReply(...words: readonly string[]): Promise<Reply | undefined> {
    const reply = await command({ port: this.#port, gate: this.gate }, ['rdmc.admin', ...words], ADMIN_MS);
    return typeof reply === 'object' ? reply : undefined;
  }

  /** The hash slot of a key; undefined: the server does not answer. */
  async slotOf(key: string): Promise<number | undefined> {
    const words = ['CLUSTER', 'KEYSLOT', key];
    const reply = await command({ port: this.#port, gate: this.gate }, words, ADMIN_MS);
    return typeof reply === 'object' && 'value' in reply ? Number(reply.value) : undefined;
  }

  /** The term in which this coordinator leads, as far as it knows; 0: it waits, or has ended. */
  get term(): number {
    const last = this.events.findLast(
      ({ leading, waiting }) => leading !== undefined || waiting !== undefined,
    );
    return this.gone ? 0 : (last?.leading ?? 0);
  }

  /** Resolves when it leads, in a term above this one. */
  leads(above: number): Promise<number> {
    return this.until(() => this.term > above && this.term, 'a term');
  }

  /** Resolves when it waits for the lead. */
  waits(): Promise<boolean> {
    return this.until(() => this.term === 0, 'the wait for the lead');
  }

  /** After an error reply the outcome is unknown: some errors occur after an append. */
  async ask(ask: Ask, timeoutMs: number): Promise<Outcome> {
    if (this.gone) return { kind: 'silent' };
    const reply = await command({ port: this.#port, gate: this.gate }, words(ask), timeoutMs);
    if (!reply) return { kind: 'silent' };
    if (reply === NOT_SENT) {
      const message = `${this.name} does not listen`;
      return { kind: 'refused', refusal: { code: 'ECONNREFUSED', message, isCertain: true } };
    }
    if ('value' in reply) return { kind: 'answered', result: reply.value };
    const [code = ''] = reply.error.split(' ');
    return { kind: 'refused', refusal: { code, message: reply.error, isCertain: false } };
  }

  #told(what: 'ready' | 'serving'): Promise<number> {
    return this.until(() => this.events.find((told) => told[what] !== undefined)?.[what], what);
  }

  #count(what: keyof Told): number {
    return this.events.filter((told) => told[what] !== undefined).length;
  }
}

function words(ask: Ask): string[] {
  if (ask.do === 'apply-together')
    return ['MSET', ...ask.keys.flatMap((key, index) => [key, ask.values[index]!])];
  if (ask.do !== 'apply') throw new Error(`a kv server does not understand ${ask.do}`);
  const { kind, ...rest } = ask.action as Action & { value?: string };
  return [kind, ask.key, ...(rest.value === undefined ? [] : [rest.value])];
}
