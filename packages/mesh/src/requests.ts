import { DEFAULT_REQUEST_TIMEOUT_MS, MAX_TIMER_MS } from './constants.js';
import { AbortError, MeshError, throwIfAborted } from './errors.js';
import { integer, refuseUnknown, validateSignal } from './options.js';

export interface RequestOptions {
  /** How long to wait for the answer, in milliseconds. Default 30,000. */
  readonly timeoutMs?: number | undefined;
  /** Stops waiting. The other member's handler is not told. */
  readonly signal?: AbortSignal | undefined;
}

interface Pending {
  readonly to: number;
  resolve(answer: unknown): void;
  reject(error: Error): void;
}

const KNOWN_OPTIONS = new Set<keyof RequestOptions>(['timeoutMs', 'signal']);

/** Requests that wait for their answer. */
export class Requests {
  readonly #pending = new Map<number, Pending>();
  #last = 0;

  /** `send` gets the number of the request; an error that it throws rejects the request. */
  start(
    to: number,
    topic: string,
    options: RequestOptions,
    send: (request: number) => void,
  ): Promise<unknown> {
    refuseUnknown(options, KNOWN_OPTIONS, 'request');
    const timeoutMs = integer('timeoutMs', options.timeoutMs, DEFAULT_REQUEST_TIMEOUT_MS, 1, MAX_TIMER_MS);
    const signal = validateSignal(options.signal);
    const what = `the request '${topic}' to member ${to}`;
    throwIfAborted(what, signal);
    const request = this.#number();
    return new Promise((resolve, reject) => {
      const finish = <T>(act: (value: T) => void) => {
        return (value: T) => {
          clearTimeout(timer);
          signal?.removeEventListener('abort', onAbort);
          this.#pending.delete(request);
          act(value);
        };
      };
      const pending: Pending = { to, resolve: finish(resolve), reject: finish(reject) };
      const onAbort = () => pending.reject(new AbortError(what, signal!));
      const timer = setTimeout(() => pending.reject(timedOut(to, topic, timeoutMs)), timeoutMs);
      signal?.addEventListener('abort', onAbort);
      this.#pending.set(request, pending);
      try {
        send(request);
      } catch (error) {
        pending.reject(error as Error);
      }
    });
  }

  /** The request of an answer; undefined when it is not pending any more, or was not sent to `from`. */
  find(from: number, request: number): Pending | undefined {
    const pending = this.#pending.get(request);
    return pending?.to === from ? pending : undefined;
  }

  rejectMember(member: number, error: MeshError): void {
    for (const pending of [...this.#pending.values()]) if (pending.to === member) pending.reject(error);
  }

  rejectAll(error: MeshError): void {
    for (const pending of [...this.#pending.values()]) pending.reject(error);
  }

  #number(): number {
    do this.#last = (this.#last + 1) >>> 0;
    while (this.#pending.has(this.#last));
    return this.#last;
  }
}

function timedOut(to: number, topic: string, timeoutMs: number): MeshError {
  return new MeshError(
    'ERR_RDMC_MESH_REQUEST_TIMEOUT',
    `member ${to} did not answer the request '${topic}' within ${timeoutMs} ms; raise timeoutMs, or check the member`,
    { memberId: to },
  );
}
