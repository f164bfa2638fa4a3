import type { ChildProcess } from 'node:child_process';
import { WatchedProcess } from '@rdmc/testing/watched-process';
import type { Action } from '../checker/history.js';
import type { Outcome } from '../cluster/member-process.js';
import type { Ask } from '../member/messages.js';
import { command, NOT_SENT } from './resp.js';

/** Reports to the parent: the port for clients, and the number of the layout that is served. */
interface Told {
  readonly ready?: number;
  readonly serving?: number;
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
  ) {
    super(child, 'ready', { name });
    this.ready = this.#told('ready').then((port) => {
      this.#port = port;
      return port;
    });
    this.serving = this.#told('serving');
    for (const promise of [this.ready, this.serving]) promise.catch(() => {});
  }

  /** After an error reply the outcome is unknown: some errors occur after an append. */
  async ask(ask: Ask, timeoutMs: number): Promise<Outcome> {
    if (this.gone) return { kind: 'silent' };
    const reply = await command(this.#port, words(ask), timeoutMs);
    if (!reply) return { kind: 'silent' };
    if (reply === NOT_SENT) {
      const message = `${this.name} does not listen`;
      return { kind: 'refused', refusal: { code: 'ECONNREFUSED', message, isCertain: true } };
    }
    if ('value' in reply) return { kind: 'answered', result: reply.value };
    const [code = ''] = reply.error.split(' ');
    return { kind: 'refused', refusal: { code, message: reply.error, isCertain: false } };
  }

  #told(what: keyof Told): Promise<number> {
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
