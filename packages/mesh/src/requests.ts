import { Deadline, PendingCalls } from '@rdmc/common';
import { DEFAULT_REQUEST_TIMEOUT_MS, MAX_TIMER_MS } from './constants.js';
import { MeshError, throwIfAborted } from './errors.js';
import { integerOption, onlyKnownOptions, signalOption } from './option-checks.js';

/** The options of `mesh.request`. */
export interface RequestOptions {
  /** How long to wait for the answer, in milliseconds. Default 30,000. */
  readonly timeoutMs?: number | undefined;
  /** Stops waiting. The other member's handler is not told. */
  readonly signal?: AbortSignal | undefined;
}

const WHERE = 'request';
const KNOWN_OPTIONS: readonly (keyof RequestOptions)[] = ['timeoutMs', 'signal'];

/** Requests that wait for their answer. */
export class Requests {
  /** With whom was asked. */
  readonly #pending = new PendingCalls<unknown, number>();

  /** `send` gets the number of the request; an error that it throws rejects the request. */
  start(
    to: number,
    topic: string,
    options: RequestOptions,
    send: (request: number) => void,
  ): Promise<unknown> {
    onlyKnownOptions(WHERE, options, KNOWN_OPTIONS);
    const timeoutMs = integerOption(
      WHERE,
      'timeoutMs',
      options.timeoutMs ?? DEFAULT_REQUEST_TIMEOUT_MS,
      1,
      MAX_TIMER_MS,
    );
    const signal = signalOption(WHERE, options.signal);
    const what = `the request '${topic}' to member ${to}`;
    throwIfAborted(what, signal);
    let deadline: Deadline | undefined;
    const answered = this.#pending.start(to, (request) => {
      const late = (): MeshError => timedOut(to, topic, timeoutMs);
      deadline = new Deadline({ timeoutMs, late, signal, what }, (error) =>
        this.#pending.reject(request, error),
      );
      send(request);
    });
    return answered.finally(() => deadline?.clear());
  }

  /** The request of an answer; undefined when it is not pending any more, or was not sent to `from`. */
  find(from: number, request: number) {
    if (this.#pending.party(request) !== from) return undefined;
    return {
      resolve: (answer: unknown) => this.#pending.resolve(request, answer),
      reject: (error: Error) => this.#pending.reject(request, error),
    };
  }

  rejectMember(member: number, error: MeshError): void {
    this.#pending.rejectAll(error, (to) => to === member);
  }

  rejectAll(error: MeshError): void {
    this.#pending.rejectAll(error);
  }
}

function timedOut(to: number, topic: string, timeoutMs: number): MeshError {
  return new MeshError(
    'ERR_RDMC_MESH_REQUEST_TIMEOUT',
    `member ${to} did not answer the request '${topic}' within ${timeoutMs} ms; raise timeoutMs, or check the member`,
    { memberId: to },
  );
}
