/*
 * etcd version 3 through its JSON gateway, which every member of an etcd cluster serves on its client port.
 * A gRPC client is not used: the common one brings a gRPC stack and a retry library for five kinds of requests, which
 * happen a few times per failure, never per append. In the gateway's JSON, bytes are base64 and 64-bit numbers are
 * decimal strings.
 */
import { Agent as HttpAgent, request as httpRequest, type RequestOptions } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { anySignal } from '@rdmc/common';
import { openRecord, optional, readShape, text, tryShape, whole } from '@rdmc/common/shapes';
import { codeOf, messageOf, TailwindError } from '../errors.js';
import type { CheckedEtcdOptions } from './etcd-store-options.js';

const RETRY_MS = 100;
/** One of several endpoints may be silent; the others get their share of the time. */
const MIN_ATTEMPT_MS = 200;
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
/** Codes of gRPC that are retried, at another endpoint or later: 4 deadline, 8 exhausted, 14 unavailable. */
const TRANSIENT = new Set([4, 8, 14]);
const NOT_FOUND = 5;
const UNAUTHENTICATED = 16;

const failure = openRecord({
  code: whole(),
  message: optional(text()),
  error: optional(text()),
});

export interface EtcdAnswer {
  readonly body: unknown;
  /** Whether an attempt before the answered one may have been carried out as well. */
  readonly repeated: boolean;
}

interface Attempt {
  readonly endpoint: URL;
  readonly path: string;
  readonly body: string;
  readonly timeoutMs: number;
}

/** An error that etcd returned for a request. */
class EtcdRefusal extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

/** Whether etcd refused a request because the named object, such as an expired lease, does not exist. */
export function isNotFound(error: unknown): boolean {
  return error instanceof Error && error.cause instanceof EtcdRefusal && error.cause.code === NOT_FOUND;
}

export class EtcdClient {
  readonly #http = new HttpAgent({ keepAlive: true });
  readonly #https: HttpsAgent;
  readonly #closed = new AbortController();
  #preferred = 0;
  #token: string | undefined;

  constructor(private readonly options: CheckedEtcdOptions) {
    this.#https = new HttpsAgent({ keepAlive: true, ...options.tls });
  }

  /**
   * Asks one endpoint after the other until one answers.
   * @throws TailwindError ERR_RDMC_STATE_UNREACHABLE: no endpoint answered in time, and the request may have been
   *   carried out; ERR_RDMC_STATE_REFUSED
   */
  async call(path: string, body: object): Promise<EtcdAnswer> {
    const { endpoints, timeoutMs } = this.options;
    const deadline = performance.now() + timeoutMs;
    const reasons = new Map<string, string>();
    const attemptMs = Math.max(MIN_ATTEMPT_MS, timeoutMs / endpoints.length);
    let repeated = false;
    for (let tried = 1; ; tried += 1) {
      const left = deadline - performance.now();
      if (left <= 0) throw unreachable(path, timeoutMs, reasons);
      const endpoint = this.#preferredEndpoint;
      try {
        const timeout = Math.min(left, attemptMs);
        return {
          body: await this.#authorised({ endpoint, path, body: JSON.stringify(body), timeoutMs: timeout }),
          repeated,
        };
      } catch (error) {
        this.#throwIfFinal(path, endpoint, error);
        // The rest of the time may be too short for any answer. Such a time-out does not replace the endpoint's last
        // error.
        if (left >= MIN_ATTEMPT_MS || !reasons.has(endpoint.origin))
          reasons.set(endpoint.origin, messageOf(error));
        // An endpoint that refused the connection did nothing.
        repeated ||= codeOf(error) !== 'ECONNREFUSED';
        this.#preferred += 1;
        if (tried % endpoints.length === 0) await delay(RETRY_MS);
      }
    }
  }

  /**
   * Sends a request whose answer is a stream of lines. Resolves when `isLast` says so of a line, or when the stream ends for any
   * reason: the caller asks etcd then.
   */
  stream(path: string, body: object, signal: AbortSignal, isLast: (line: string) => boolean): Promise<void> {
    const endpoint = this.#preferredEndpoint;
    const options = this.#requestOptions(endpoint, this.#token, anySignal(signal, this.#closed.signal));
    return new Promise((resolve) => {
      const request = sendTo(endpoint)(new URL(path, endpoint), options, (response) => {
        const lines = createInterface({ input: response });
        lines.on('line', (line) => {
          if (!endsStream(isLast, line)) return;
          request.destroy();
          resolve();
        });
        lines.on('error', () => {});
        response.on('error', () => {});
      });
      request.on('error', () => {});
      request.on('close', () => resolve());
      request.end(JSON.stringify(body));
    });
  }

  close(): void {
    this.#closed.abort(new TailwindError('ERR_RDMC_STATE_CLOSED', 'This store is closed'));
    this.#http.destroy();
    this.#https.destroy();
  }

  get #preferredEndpoint(): URL {
    const { endpoints } = this.options;
    return endpoints[this.#preferred % endpoints.length]!;
  }

  #requestOptions(endpoint: URL, token: string | undefined, signal: AbortSignal): RequestOptions {
    return {
      method: 'POST',
      agent: isSecure(endpoint) ? this.#https : this.#http,
      headers: { 'content-type': 'application/json', ...(token !== undefined && { authorization: token }) },
      signal,
    };
  }

  #throwIfFinal(path: string, endpoint: URL, error: unknown): void {
    this.#closed.signal.throwIfAborted();
    if (!(error instanceof EtcdRefusal) || TRANSIENT.has(error.code)) return;
    throw new TailwindError(
      'ERR_RDMC_STATE_REFUSED',
      `etcd at ${endpoint.origin} refused ${path}: ${error.message} (code ${error.code})`,
      { cause: error },
    );
  }

  /** Tokens expire, and change when users do: a refused token is fetched again, once. */
  async #authorised(attempt: Attempt): Promise<unknown> {
    const { credentials } = this.options;
    if (!credentials) return this.#send(attempt);
    const known = this.#token;
    this.#token ??= await this.#authenticate(attempt);
    try {
      return await this.#send(attempt, this.#token);
    } catch (error) {
      if (!(error instanceof EtcdRefusal) || error.code !== UNAUTHENTICATED || known === undefined)
        throw error;
      this.#token = await this.#authenticate(attempt);
      return this.#send(attempt, this.#token);
    }
  }

  async #authenticate({ endpoint, timeoutMs }: Attempt): Promise<string> {
    const body = JSON.stringify(this.options.credentials);
    const answer = await this.#send({ endpoint, path: '/v3/auth/authenticate', body, timeoutMs });
    return readShape(openRecord({ token: text() }), answer).token;
  }

  #send({ endpoint, path, body, timeoutMs }: Attempt, token?: string): Promise<unknown> {
    const options = this.#requestOptions(endpoint, token, this.#closed.signal);
    return new Promise((resolve, reject) => {
      const request = sendTo(endpoint)(new URL(path, endpoint), options, (response) => {
        const pieces: Buffer[] = [];
        let bytes = 0;
        response.on('data', (piece: Buffer) => {
          bytes += piece.length;
          pieces.push(piece);
          if (bytes > MAX_ANSWER_BYTES)
            response.destroy(new Error(`the answer exceeds ${MAX_ANSWER_BYTES} bytes`));
        });
        response.on('error', reject);
        response.on('end', () => {
          try {
            resolve(decodeAnswer(response.statusCode ?? 0, Buffer.concat(pieces).toString()));
          } catch (error) {
            reject(error);
          }
        });
      });
      const overdue = new Error(`no answer within ${Math.ceil(timeoutMs)} ms`);
      const timer = setTimeout(() => request.destroy(overdue), Math.ceil(timeoutMs));
      request.on('close', () => clearTimeout(timer));
      request.on('error', reject);
      request.end(body);
    });
  }
}

function isSecure({ protocol }: URL): boolean {
  return protocol === 'https:';
}

function sendTo(endpoint: URL): typeof httpRequest {
  return isSecure(endpoint) ? httpsRequest : httpRequest;
}

/** A line that cannot be read ends the stream, too. */
function endsStream(isLast: (line: string) => boolean, line: string): boolean {
  try {
    return isLast(line);
  } catch {
    return true;
  }
}

function decodeAnswer(status: number, text: string): unknown {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new Error(`HTTP status ${status} without valid JSON: is this an etcd (3.4 or newer)?`);
  }
  if (status === 200) return body;
  const data = tryShape(failure, body);
  if (!data) throw new Error(`HTTP status ${status}: is this an etcd (3.4 or newer)?`);
  throw new EtcdRefusal(data.code, data.message ?? data.error ?? `HTTP status ${status}`);
}

function unreachable(path: string, timeoutMs: number, reasons: ReadonlyMap<string, string>): TailwindError {
  const each = [...reasons].map(([endpoint, reason]) => `${endpoint}: ${reason}`).join('; ');
  return new TailwindError(
    'ERR_RDMC_STATE_UNREACHABLE',
    `No etcd endpoint answered ${path} within ${timeoutMs} ms: ${each}. It may have been carried out`,
  );
}
