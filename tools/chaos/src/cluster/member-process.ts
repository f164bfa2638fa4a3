import type { ChildProcess } from 'node:child_process';
import { PendingCalls, within } from '@rdmc/common';
import { WatchedProcess } from '@rdmc/testing/watched-process';
import type { Ask, Refusal } from '../member/messages.js';

export type Outcome =
  | { readonly kind: 'answered'; readonly result: unknown }
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  /** The process ended, or was silent for too long. */
  | { readonly kind: 'silent' };

const SILENT: Outcome = { kind: 'silent' };

/** An `Answer` before its kind is known. */
interface Told {
  readonly ready?: true;
  readonly id?: number;
  readonly result?: unknown;
  readonly refusal?: Refusal;
}

/** The harness's handle of one member. */
export class MemberProcess extends WatchedProcess<Told, 'ready'> {
  /** Resolves when the member is ready; rejects when it ends before. */
  readonly ready: Promise<unknown>;
  readonly #asked = new PendingCalls<Outcome>();

  constructor(
    readonly id: number,
    readonly directory: string,
    child: ChildProcess,
  ) {
    super(child, 'ready', { name: `member ${id}`, isEvent: ({ ready }) => ready === true });
    this.ready = this.event(true);
    this.ready.catch(() => {});
    child.on('message', (told: Told) => this.#take(told));
    void this.exited.then(() => this.#asked.end(new Error(`member ${id} has ended`)));
  }

  /** Never rejects. A request without an answer may be carried out later. */
  ask(ask: Ask, timeoutMs: number): Promise<Outcome> {
    if (this.gone || !this.child.connected) return Promise.resolve(SILENT);
    const answered = this.#asked.start(undefined, (id) => this.child.send({ id, ask }, () => {}));
    return within(answered, { timeoutMs }).catch(() => SILENT);
  }

  #take({ id, result, refusal }: Told): void {
    if (id === undefined) return;
    this.#asked.resolve(id, refusal ? { kind: 'refused', refusal } : { kind: 'answered', result });
  }
}
