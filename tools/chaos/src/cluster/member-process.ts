import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Answer, Ask, Refusal } from '../member/messages.js';

export type Outcome =
  | { readonly kind: 'answered'; readonly result: unknown }
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  /** The process ended, or said nothing for too long. */
  | { readonly kind: 'silent' };

const SILENT: Outcome = { kind: 'silent' };
const MAX_SAID = 20_000;

/** One member as the harness sees it. */
export class MemberProcess {
  readonly ready: Promise<void>;
  readonly #waiting = new Map<number, (outcome: Outcome) => void>();
  #said = '';
  #nextId = 1;
  #isGone = false;

  constructor(
    readonly id: number,
    readonly directory: string,
    private readonly child: ChildProcess,
  ) {
    const keep = (text: Buffer): void => {
      this.#said = (this.#said + text).slice(-MAX_SAID);
    };
    child.stdout!.on('data', keep);
    child.stderr!.on('data', keep);
    this.ready = new Promise((resolve, reject) => {
      child.on('message', (message) => {
        if ('ready' in (message as object)) resolve();
        else this.#take(message as Exclude<Answer, { ready: true }>);
      });
      child.on('error', () => {});
      child.on('exit', (code, signal) => {
        this.#isGone = true;
        reject(new Error(`member ${id} ended (${signal ?? code}):\n${this.#said}`));
        for (const settle of this.#waiting.values()) settle(SILENT);
        this.#waiting.clear();
      });
    });
    this.ready.catch(() => {});
  }

  get pid(): number {
    return this.child.pid!;
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** What it wrote to its output, the end of it. */
  get said(): string {
    return this.#said;
  }

  /** Never rejects. A question without an answer may be carried out later. */
  ask(ask: Ask, timeoutMs: number): Promise<Outcome> {
    if (this.#isGone || !this.child.connected) return Promise.resolve(SILENT);
    const id = this.#nextId++;
    return new Promise((resolve) => {
      const timer = setTimeout(() => settle(SILENT), timeoutMs);
      const settle = (outcome: Outcome): void => {
        clearTimeout(timer);
        this.#waiting.delete(id);
        resolve(outcome);
      };
      this.#waiting.set(id, settle);
      this.child.send({ id, ask }, () => {});
    });
  }

  signal(signal: NodeJS.Signals): void {
    if (!this.#isGone) this.child.kill(signal);
  }

  /** Resolves when the process is gone. */
  async end(signal: NodeJS.Signals): Promise<void> {
    if (this.#isGone) return;
    const exited = once(this.child, 'exit');
    this.child.kill(signal);
    await exited;
  }

  #take(answer: Exclude<Answer, { ready: true }>): void {
    const settle = this.#waiting.get(answer.id);
    if ('refusal' in answer) settle?.({ kind: 'refused', refusal: answer.refusal });
    else settle?.({ kind: 'answered', result: answer.result });
  }
}
