import type { ChildProcess } from 'node:child_process';
import type { Action } from '../checker/history.js';
import type { Outcome } from '../cluster/member-process.js';
import { WatchedProcess } from '../cluster/watched-process.js';
import type { Ask } from '../member/messages.js';
import { command } from './resp.js';

/** A process of `kv server` or `kv coordinator`. */
export class KvProcess extends WatchedProcess {
  readonly ready: Promise<void>;
  readonly serving: Promise<void>;
  #port = 0;

  constructor(
    readonly name: string,
    child: ChildProcess,
  ) {
    super(name, child);
    this.ready = Promise.race([this.gone, this.#told('ready')]);
    this.serving = Promise.race([this.gone, this.#told('serving')]);
    for (const promise of [this.ready, this.serving]) promise.catch(() => {});
  }

  /** An error reply tells nothing about whether it was done: some come after an append. */
  async ask(ask: Ask, timeoutMs: number): Promise<Outcome> {
    if (this.isGone) return { kind: 'silent' };
    const reply = await command(this.#port, words(ask), timeoutMs);
    if (!reply) return { kind: 'silent' };
    if ('value' in reply) return { kind: 'answered', result: reply.value };
    const [code = ''] = reply.error.split(' ');
    return { kind: 'refused', refusal: { code, message: reply.error, isCertain: false } };
  }

  #told(event: 'ready' | 'serving'): Promise<void> {
    return new Promise((resolve) => {
      this.child.on('message', (message) => {
        const told = message as Partial<Record<typeof event, number>>;
        if (told[event] === undefined) return;
        if (event === 'ready') this.#port = told[event];
        resolve();
      });
    });
  }
}

function words(ask: Ask): string[] {
  if (ask.do === 'apply-together')
    return ['MSET', ...ask.keys.flatMap((key, index) => [key, ask.values[index]!])];
  if (ask.do !== 'apply') throw new Error(`a kv server does not understand ${ask.do}`);
  const { kind, ...rest } = ask.action as Action & { value?: string };
  return [kind, ask.key, ...(rest.value === undefined ? [] : [rest.value])];
}
