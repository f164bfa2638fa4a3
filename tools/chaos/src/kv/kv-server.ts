import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Action } from '../checker/history.js';
import type { Outcome } from '../cluster/member-process.js';
import type { Ask } from '../member/messages.js';
import { command } from './resp.js';

const MAX_SAID = 20_000;

/** A process of `kv server` or `kv coordinator`. */
export class KvProcess {
  readonly ready: Promise<void>;
  readonly serving: Promise<void>;
  #port = 0;
  #said = '';
  #isGone = false;

  constructor(
    readonly name: string,
    private readonly child: ChildProcess,
  ) {
    const keep = (text: Buffer): void => {
      this.#said = (this.#said + text).slice(-MAX_SAID);
    };
    child.stdout!.on('data', keep);
    child.stderr!.on('data', keep);
    const gone = once(child, 'exit').then(([code, signal]) => {
      this.#isGone = true;
      throw new Error(`${name} ended (${signal ?? code}):\n${this.#said}`);
    });
    this.ready = Promise.race([gone, this.#told('ready')]);
    this.serving = Promise.race([gone, this.#told('serving')]);
    for (const promise of [gone, this.ready, this.serving]) promise.catch(() => {});
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  get said(): string {
    return this.#said;
  }

  signal(signal: NodeJS.Signals): void {
    if (!this.#isGone) this.child.kill(signal);
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    if (this.#isGone) return;
    const exited = once(this.child, 'exit');
    this.child.kill(signal);
    await exited;
  }

  /** An error reply tells nothing about whether it was done: some come after an append. */
  async ask(ask: Ask, timeoutMs: number): Promise<Outcome> {
    if (this.#isGone) return { kind: 'silent' };
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
