import type { ChildProcess } from 'node:child_process';
import { WatchedProcess } from '@rdmc/testing/watched-process';
import type { Action } from '../checker/history.js';
import type { Outcome } from '../cluster/member-process.js';
import type { Ask } from '../member/messages.js';
import { command, NOT_SENT } from './resp.js';

/** Reports to the parent: the port for clients, the number of the layout that is served, and the term that begins or is over. */
interface Told {
  readonly ready?: number;
  readonly serving?: number;
  readonly leading?: number;
  readonly waiting?: string;
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
}

function words(ask: Ask): string[] {
  if (ask.do === 'apply-together')
    return ['MSET', ...ask.keys.flatMap((key, index) => [key, ask.values[index]!])];
  if (ask.do !== 'apply') throw new Error(`a kv server does not understand ${ask.do}`);
  const { kind, ...rest } = ask.action as Action & { value?: string };
  return [kind, ask.key, ...(rest.value === undefined ? [] : [rest.value])];
}
