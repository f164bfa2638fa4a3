import { randomUUID } from 'node:crypto';
import type { Server, Socket } from 'node:net';
import { Lifetime, throwIfAborted } from '@rdmc/common';
import { HANDSHAKE_TIMEOUT_MS, MAX_CASTS, MAX_GREETINGS } from './constants.js';
import { AbortError, CastError, messageOf } from './errors.js';
import { listenAt, portOf } from './ports.js';
import { type CheckedReceiveOptions, checkReceiveOptions } from './receive-options.js';
import { eventQueue } from './receiver/event-queue.js';
import { greet, refuseKey } from './receiver/greeting.js';
import { Reception } from './receiver/reception.js';
import { WriterThreads } from './receiver/writer-threads.js';
import type { ReceiverEvent } from './receiver-events.js';
import type { ReceiveOptions } from './receiver-options.js';

/** Takes casts until it is closed. Iterating gives what happens; it may be left out. One consumer. */
export interface FileReceiver extends AsyncIterable<ReceiverEvent>, AsyncDisposable {
  /** Where it listens. */
  readonly address: { readonly host: string; readonly port: number };
  /** Aborted when it takes no more casts. */
  readonly signal: AbortSignal;
  /** Resolves when everything is closed and half-done files are removed. */
  readonly closed: Promise<void>;
  /** Ends casts under way, removes what is half-done, and listens no more. Idempotent. */
  close(): Promise<void>;
}

/**
 * Listens for casts and puts what they bring in a directory. Before it listens it removes what receivers that were
 * killed have left there.
 *
 * @throws CastError ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_OPTION, ERR_RDMC_KEY_REQUIRED, ERR_RDMC_ADDRESS_IN_USE,
 *   ERR_RDMC_LISTEN_FAILED, ERR_RDMC_NOT_FOUND, ERR_RDMC_NOT_A_DIRECTORY, ERR_RDMC_PERMISSION; AbortError; MeshError
 *   ERR_RDMC_MESH_WEAK_KEY, ERR_RDMC_MESH_USER_KEY
 */
export async function receiveFiles(options: ReceiveOptions): Promise<FileReceiver> {
  const checked = checkReceiveOptions(options);
  throwIfAborted('the receiver', checked.signal);
  const writers = new WriterThreads();
  const removed = await writers.prepare(checked.directory);
  if (removed.length > 0) checked.logger?.info?.({ removed }, 'removed what ended receivers had left');
  try {
    const server = await listenAt(checked.host, checked.port);
    if (!checked.signal?.aborted) return new ListeningReceiver(checked, server, writers);
    server.close();
    throw new AbortError('the receiver', checked.signal);
  } catch (error) {
    await writers.end();
    throw error;
  }
}

class ListeningReceiver implements FileReceiver {
  readonly address: { readonly host: string; readonly port: number };
  readonly #events = eventQueue();
  readonly #lifetime = new Lifetime();
  readonly #instance = randomUUID();
  /** Connections without an invitation. `KeyedSockets` bounds those that have not proved the key. */
  readonly #callers = new Set<Socket>();
  /** Those that have proved the key. */
  #greeting = 0;
  readonly #receptions = new Map<Reception, Promise<void>>();
  readonly #onAbort = (): void => void this.close();
  #closing: Promise<void> | undefined;

  constructor(
    private readonly options: CheckedReceiveOptions,
    private readonly server: Server,
    private readonly writers: WriterThreads,
  ) {
    this.address = { host: options.host, port: portOf(server) };
    server.on('connection', (socket: Socket) => void this.#accept(socket));
    server.on('error', (error) =>
      options.logger?.warn?.({ reason: error.message }, 'the listening socket failed'),
    );
    options.signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#lifetime.signal;
  }

  get closed(): Promise<void> {
    return this.#lifetime.closed;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close().finally(() => this.#lifetime.free());
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  [Symbol.asyncIterator](): AsyncIterator<ReceiverEvent, undefined> {
    return this.#events[Symbol.asyncIterator]();
  }

  async #close(): Promise<void> {
    this.#lifetime.end(new CastError('ERR_RDMC_RECEIVER_CLOSED', 'The receiver is closed'));
    this.options.signal?.removeEventListener('abort', this.#onAbort);
    this.server.close();
    for (const socket of this.#callers) socket.destroy();
    for (const reception of this.#receptions.keys()) reception.abort();
    await Promise.all([...this.#receptions.values(), this.writers.end()]);
    this.#events.end();
  }

  async #accept(raw: Socket): Promise<void> {
    raw.on('error', () => {});
    if (this.#closing) {
      raw.destroy();
      return;
    }
    this.#callers.add(raw);
    const timer = setTimeout(() => raw.destroy(), HANDSHAKE_TIMEOUT_MS);
    try {
      const greeted = await this.#greet(await this.options.sockets.accept(raw));
      clearTimeout(timer);
      if (greeted) this.#receive(greeted);
    } catch (error) {
      this.options.logger?.warn?.({ reason: messageOf(error) }, 'a caller was turned away');
      refuseKey(raw, error);
    } finally {
      clearTimeout(timer);
      this.#callers.delete(raw);
    }
  }

  async #greet(socket: Socket): ReturnType<typeof greet> {
    const isFull = this.#greeting >= MAX_GREETINGS;
    const busy = (): boolean => isFull || this.#receptions.size >= MAX_CASTS || this.#closing !== undefined;
    this.#greeting += 1;
    try {
      return await greet(socket, this.#instance, busy);
    } finally {
      this.#greeting -= 1;
    }
  }

  #receive({ channel, frames, invitation }: NonNullable<Awaited<ReturnType<typeof greet>>>): void {
    const report = (event: ReceiverEvent): void => this.#events.push(event);
    const reception = new Reception(channel, invitation, this.options, this.writers.take(), report);
    const over = reception.run(frames).then(() => {
      this.#receptions.delete(reception);
      if (this.options.once) void this.close();
      else this.writers.refill();
    });
    this.#receptions.set(reception, over);
    if (this.#closing) reception.abort();
  }
}
