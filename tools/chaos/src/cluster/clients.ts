import type { WrittenTogether } from '../checker/check.js';
import type { Action, Operation, Result } from '../checker/history.js';
import { type Ask, NOT_PRIMARY } from '../member/messages.js';
import type { Chances } from '../random.js';
import type { Load } from '../run/judge.js';
import type { Outcome } from './member-process.js';

const OPERATION_MS = 4_000;
/** Pause of a client after a refusal. */
const PAUSE_MS = 20;
/** The keys that are read at the end, beside those that are written together. */
export const KEYS: readonly string[] = Array.from({ length: 5 }, (_, index) => `key-${index + 1}`);
const LONGEST_VALUE_BYTES = 400;

/** The clients' view of a server. */
export interface Target {
  readonly gone: boolean;
  ask(ask: Ask, timeoutMs: number): Promise<Outcome>;
}

export interface ClientsOptions {
  readonly clients: number;
  readonly random: Chances;
  /** The server that is the primary, as far as is known. */
  readonly primary: () => Target;
  /** A former primary, which must not serve any more. */
  readonly former: () => Target | undefined;
}

/** Clients that send requests continuously, each one request at a time, and the history of their answers. */
export class Clients implements Load {
  readonly operations: Operation[] = [];
  readonly together: WrittenTogether[] = [];
  /** Codes of the refusals, and their number. */
  readonly refusals = new Map<string, number>();
  /** Milliseconds between an answer and the client's next request: not 0 while a run only waits for time to pass. */
  betweenMs = 0;
  #acknowledged = 0;
  #unanswered = 0;
  #nextClient = 0;
  #nextValue = 0;
  #isStopped = false;
  #running: Promise<void>[] = [];
  readonly #watchers = new Set<() => void>();

  constructor(private readonly options: ClientsOptions) {}

  get acknowledged(): number {
    return this.#acknowledged;
  }

  get summary(): string {
    const operations = this.operations.length + this.together.length;
    return `${operations} operations, ${this.#acknowledged} writes acknowledged`;
  }

  get trouble(): string {
    const refusals = [...this.refusals].map(([code, count]) => `${count} × ${code}`).join(', ');
    return `refused: ${refusals || 'nothing'}`;
  }

  get history(): object {
    const { refusals, operations, together } = this;
    return { refusals: [...refusals], operations, together };
  }

  get unanswered(): number {
    return this.#unanswered;
  }

  start(): void {
    this.#isStopped = false;
    this.#running = Array.from({ length: this.options.clients }, () => this.#run());
  }

  /** Stops sending requests. */
  halt(): void {
    this.#isStopped = true;
  }

  /** Stops sending requests, and resolves when all are answered. */
  async stop(): Promise<void> {
    this.halt();
    await Promise.all(this.#running);
  }

  /** Resolves after this number of further acknowledged writes. */
  more(count: number): Promise<void> {
    const goal = this.#acknowledged + count;
    return new Promise((resolve) => {
      const look = (): void => {
        if (this.#acknowledged < goal) return;
        this.#watchers.delete(look);
        resolve();
      };
      this.#watchers.add(look);
      look();
    });
  }

  /** Reads every key until there is an answer, and records the answer in the history. */
  async readAll(): Promise<Map<string, string | null>> {
    const keys = new Set([
      ...this.operations.map(({ key }) => key),
      ...this.together.flatMap(({ keys }) => keys),
    ]);
    const found = new Map<string, string | null>();
    for (const key of keys) {
      for (;;) {
        const outcome = await this.#ask(this.options.primary(), this.#nextClient, key, { kind: 'get' });
        if (outcome !== undefined) {
          found.set(key, outcome as string | null);
          break;
        }
        await pause();
      }
    }
    return found;
  }

  /** A request to one server, beside those of the load. */
  async ask(to: Target, key: string, kind: 'get' | 'set'): Promise<void> {
    const client = this.#nextClient++;
    await this.#ask(to, client, key, kind === 'get' ? { kind } : { kind, value: this.#value() });
  }

  async #run(): Promise<void> {
    const { random, primary, former } = this.options;
    let client = this.#nextClient++;
    while (!this.#isStopped) {
      const old = random.integer(0, 3) === 0 ? former() : undefined;
      const to = old ?? primary();
      if (to.gone) {
        await pause();
        continue;
      }
      // A former primary can only serve stale values of keys without a pending write of its own: mostly reads.
      const isRead = old !== undefined && random.integer(0, 9) > 0;
      if (!isRead && random.integer(0, 9) === 0) await this.#writeTogether(to, client);
      else {
        const key = random.pick(KEYS);
        const isDone = await this.#ask(to, client, key, isRead ? { kind: 'get' } : this.#action(key));
        if (isDone === undefined) await pause();
      }
      // A client with an unanswered request sends no further ones; another client replaces it.
      client = this.#nextClient++;
      if (this.betweenMs > 0) await pause(this.betweenMs);
    }
  }

  #action(key: string): Action {
    const { random } = this.options;
    // Each key has one kind of value, so that text is never incremented.
    if (key === 'key-1') return random.pick([{ kind: 'incr' }, { kind: 'incr' }, { kind: 'get' }]);
    const value = this.#value();
    return random.pick<Action>([
      { kind: 'set', value },
      { kind: 'set', value },
      { kind: 'get' },
      { kind: 'get' },
      { kind: 'del' },
      key === 'key-2' ? { kind: 'append', value: value.slice(0, 12) } : { kind: 'set', value },
    ]);
  }

  /** A unique value, without zero bytes. */
  #value(): string {
    this.#nextValue += 1;
    return `v${this.#nextValue}-`.padEnd(this.options.random.integer(12, LONGEST_VALUE_BYTES), '.');
  }

  /** The answer; undefined if there was none. */
  async #ask(to: Target, client: number, key: string, action: Action): Promise<Result | undefined> {
    const calledAt = performance.now();
    const outcome = await to.ask({ do: 'apply', key, action }, OPERATION_MS);
    const at = performance.now();
    if (outcome.kind === 'answered') {
      const result = outcome.result as Result;
      this.operations.push({ client, key, action, calledAt, answer: { at, result } });
      if (action.kind !== 'get') this.#count();
      return result;
    }
    if (outcome.kind === 'refused') this.#note(outcome.refusal.code);
    if (action.kind === 'get' || isCertain(outcome)) return undefined;
    this.#unanswered += 1;
    this.operations.push({ client, key, action, calledAt, answer: undefined });
    return undefined;
  }

  async #writeTogether(to: Target, client: number): Promise<void> {
    const number = this.together.length;
    const keys = ['a', 'b', 'c'].map((part) => `{together-${number}}${part}`);
    const values = keys.map(() => this.#value());
    const written = { keys, values, acknowledged: false };
    this.together.push(written);
    const calledAt = performance.now();
    const outcome = await to.ask({ do: 'apply-together', keys, values }, OPERATION_MS);
    const answer = outcome.kind === 'answered' ? { at: performance.now(), result: 'OK' } : undefined;
    if (answer || !isCertain(outcome)) {
      for (const [index, key] of keys.entries()) {
        const action: Action = { kind: 'set', value: values[index]! };
        this.operations.push({ client, key, action, calledAt, answer });
      }
    }
    if (outcome.kind === 'answered') {
      written.acknowledged = true;
      this.#count();
      return;
    }
    if (outcome.kind === 'refused') this.#note(outcome.refusal.code);
    await pause();
  }

  #note(code: string): void {
    if (code !== NOT_PRIMARY) this.refusals.set(code, (this.refusals.get(code) ?? 0) + 1);
  }

  #count(): void {
    this.#acknowledged += 1;
    for (const look of [...this.#watchers]) look();
  }
}

/** Whether the request was certainly not carried out, and will not be. */
function isCertain(outcome: Outcome): boolean {
  return outcome.kind === 'refused' && outcome.refusal.isCertain;
}

function pause(milliseconds = PAUSE_MS): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
