import type { ChildProcess } from 'node:child_process';
import type { Answer, Ask, Refusal } from '../member/messages.js';
import { WatchedProcess } from './watched-process.js';

export type Outcome =
  | { readonly kind: 'answered'; readonly result: unknown }
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  /** The process ended, or said nothing for too long. */
  | { readonly kind: 'silent' };

const SILENT: Outcome = { kind: 'silent' };

/** One member as the harness sees it. */
export class MemberProcess extends WatchedProcess {
  readonly ready: Promise<void>;
  readonly #waiting = new Map<number, (outcome: Outcome) => void>();
  #nextId = 1;

  constructor(
    readonly id: number,
    readonly directory: string,
    child: ChildProcess,
  ) {
    super(`member ${id}`, child);
    const ready = new Promise<void>((resolve) => {
      child.on('message', (message) => {
        if ('ready' in (message as object)) resolve();
        else this.#take(message as Exclude<Answer, { ready: true }>);
      });
    });
    this.ready = Promise.race([ready, this.gone]);
    this.ready.catch(() => {});
    this.gone.catch(() => {
      for (const settle of this.#waiting.values()) settle(SILENT);
      this.#waiting.clear();
    });
  }

  get pid(): number {
    return this.child.pid!;
  }

  /** Never rejects. A question without an answer may be carried out later. */
  ask(ask: Ask, timeoutMs: number): Promise<Outcome> {
    if (this.isGone || !this.child.connected) return Promise.resolve(SILENT);
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

  #take(answer: Exclude<Answer, { ready: true }>): void {
    const settle = this.#waiting.get(answer.id);
    if ('refusal' in answer) settle?.({ kind: 'refused', refusal: answer.refusal });
    else settle?.({ kind: 'answered', result: answer.result });
  }
}
