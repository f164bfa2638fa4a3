import type { Server, Socket } from 'node:net';
import { Lifetime, type Logger, type SingleConsumer } from '@rdmc/common';
import type { KeyedSockets } from '@rdmc/mesh/sockets';
import { HANDSHAKE_TIMEOUT_MS } from './constants.js';
import { type CastError, messageOf } from './errors.js';
import { portOf } from './ports.js';
import { refuseKey } from './receiver/handshake.js';

interface ListenerOptions {
  readonly host: string;
  readonly sockets: KeyedSockets;
  readonly signal: AbortSignal | undefined;
  readonly logger: Logger | undefined;
}

/** Listens for callers that prove a key, until it is closed; with events for one consumer. */
export abstract class KeyedListener<Event> implements AsyncIterable<Event>, AsyncDisposable {
  readonly address: { readonly host: string; readonly port: number };
  readonly #lifetime = new Lifetime();
  /** Connections that have not been admitted yet. `KeyedSockets` limits those that have not proved the key. */
  readonly #callers = new Set<Socket>();
  readonly #onAbort = (): void => void this.close();
  #closing: Promise<void> | undefined;

  constructor(
    private readonly listening: ListenerOptions,
    private readonly server: Server,
    protected readonly events: SingleConsumer<Event>,
  ) {
    const { host, signal, logger } = listening;
    this.address = { host, port: portOf(server) };
    server.on('connection', (socket: Socket) => void this.#accept(socket));
    server.on('error', (error) => logger?.warn?.({ reason: error.message }, 'the listening socket failed'));
    signal?.addEventListener('abort', this.#onAbort, { once: true });
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

  [Symbol.asyncIterator](): AsyncIterator<Event, undefined> {
    return this.events[Symbol.asyncIterator]();
  }

  protected get isClosing(): boolean {
    return this.#closing !== undefined;
  }

  /** Takes a caller that has proved the key. A caller with which this takes longer than the handshake may is disconnected. */
  protected abstract admit(socket: Socket): Promise<void>;

  /** Why the signal is aborted when this is closed. */
  protected abstract closeReason(): CastError;

  /** Ends what was begun with admitted callers. Nobody is admitted any more. */
  protected abstract endWork(reason: CastError): Promise<void>;

  async #close(): Promise<void> {
    const reason = this.closeReason();
    this.#lifetime.end(reason);
    this.listening.signal?.removeEventListener('abort', this.#onAbort);
    this.server.close();
    for (const socket of this.#callers) socket.destroy();
    await this.endWork(reason);
    this.events.end();
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
      await this.admit(await this.listening.sockets.accept(raw));
    } catch (error) {
      this.listening.logger?.warn?.({ reason: messageOf(error) }, 'a connection was refused');
      refuseKey(raw, error);
    } finally {
      clearTimeout(timer);
      this.#callers.delete(raw);
    }
  }
}
