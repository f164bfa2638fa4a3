import { once } from 'node:events';
import { createServer, Server, type Socket } from 'node:net';
import { settledWithin } from '@rdmc/common';
import { CLOSE_TIMEOUT_MS } from './constants.js';
import { MeshError, messageOf, protocolError } from './errors.js';
import { FrameReader } from './frame-reader.js';
import { clipText, FrameType } from './frames.js';
import {
  decodeHello,
  decodeReject,
  encodeHello,
  encodeReject,
  type ForeignHello,
  type Hello,
  MAX_HELLO_FRAME_BYTES,
  type Reject,
} from './hello.js';
import { SAME_KEY_ADVICE } from './key.js';
import type { Introduced } from './link.js';
import { describeAddress, isLoopbackHost } from './members.js';
import { keyRequired, type ResolvedOptions } from './options.js';
import type { PendingConnection } from './pending-connection.js';
import { PendingConnections } from './pending-connections.js';
import { provenServer, type Security } from './security.js';
import { firstBytes, looksLikeTls, nextFrame, prepared } from './transport.js';

export interface ListenerEvents {
  /** The error with which this caller is refused, if any. Called after HELLO, and again after CONFIRM. */
  check(hello: Hello | ForeignHello, from: string): MeshError | undefined;
  answer(hello: Hello): Hello;
  connected(introduced: Introduced): void;
  /** A well-formed HELLO was refused, and the caller was told. */
  refused(error: MeshError): void;
  /** The caller refused this member's HELLO, and says why. */
  refusedByCaller?(reject: Reject, hello: Hello): void;
  /** A connection was closed before its handshake was complete. */
  dropped(error: unknown, from: string): void;
}

/**
 * Accepts connections, and hands over those whose handshake is complete. Until then their number, their time (see
 * `PendingConnections`) and their bytes are bounded.
 */
export class Listener {
  readonly #options: ResolvedOptions;
  readonly #security: Security | undefined;
  readonly #version: number;
  readonly #events: ListenerEvents;
  readonly #pending: PendingConnections;
  #server: Server | undefined;

  constructor(
    options: ResolvedOptions,
    security: Security | undefined,
    version: number,
    events: ListenerEvents,
    pendingTickMs?: number,
  ) {
    this.#options = options;
    this.#security = security;
    this.#version = version;
    this.#events = events;
    // A member does not connect twice at once.
    this.#pending = new PendingConnections(options.expectedMembers, pendingTickMs);
  }

  /** Number of connections whose handshake is not complete. */
  get pendingCount(): number {
    return this.#pending.size;
  }

  async listen(): Promise<void> {
    const { server, self, listenHost } = this.#options;
    try {
      this.#server = await listening(server, listenHost, self.port);
    } catch (cause) {
      throw new MeshError(
        'ERR_RDMC_MESH_LISTEN_FAILED',
        `cannot listen on ${describeAddress({ host: listenHost, port: self.port })}: ${messageOf(cause)}; ` +
          'free the port, or set listenHost to an address of this machine',
        { cause },
      );
    }
    this.#server.on('error', (error) => this.#events.dropped(error, 'the listening socket'));
    this.#server.on('connection', (socket: Socket) => this.#accept(socket));
    this.#requireLoopback(this.#server);
  }

  /** The port that it listens on. */
  get port(): number {
    const address = this.#server?.address();
    return typeof address === 'object' && address !== null ? address.port : this.#options.self.port;
  }

  ref(): void {
    this.#server?.ref();
  }

  unref(): void {
    this.#server?.unref();
  }

  async close(): Promise<void> {
    const server = this.#server ?? givenServer(this.#options.server);
    this.#server = undefined;
    this.#pending.close();
    if (!server?.listening) return;
    const closed = once(server, 'close');
    server.close();
    await settledWithin(closed, CLOSE_TIMEOUT_MS);
  }

  /** The bound address can differ from the option: with a server that was given, or a name. */
  #requireLoopback(server: Server): void {
    const address = server.address();
    if (!this.#options.loopbackOnly || address === null || typeof address === 'string') return;
    if (!isLoopbackHost(address.address)) throw keyRequired(`the listening socket on ${address.address}`);
  }

  #accept(socket: Socket): void {
    prepared(socket);
    const from = describeAddress({ host: socket.remoteAddress ?? '?', port: socket.remotePort ?? 0 });
    const pending = this.#pending.admit(socket);
    this.#greet(pending, from)
      .catch((error: unknown) => {
        // A queued refusal closes the connection after it is sent.
        if (!socket.writableEnded) socket.destroy();
        this.#events.dropped(pending.reason ?? error, from);
      })
      .finally(() => pending.done());
  }

  async #greet(pending: PendingConnection, from: string): Promise<void> {
    const socket = await this.#secured(pending, from);
    const reader = new FrameReader(MAX_HELLO_FRAME_BYTES);
    const hello = await this.#readHello(socket, reader);
    const refusal = this.#events.check(hello, from);
    if (refusal !== undefined || hello.from === undefined) {
      this.#refuse(socket, refusal!);
      return;
    }
    socket.write(encodeHello(this.#events.answer(hello)));
    // A caller that stopped meanwhile must not count as connected, so it must confirm.
    const confirm = await nextFrame(socket, reader);
    if (confirm.type === FrameType.REJECT) {
      this.#events.refusedByCaller?.(decodeReject(confirm.payload), hello);
      throw protocolError(`member ${hello.from} refused: ${decodeReject(confirm.payload).message}`);
    }
    if (confirm.type !== FrameType.CONFIRM)
      throw protocolError(`frame type ${confirm.type} came instead of CONFIRM`);
    const second = this.#events.check(hello, from);
    if (second === undefined) this.#events.connected({ socket, reader, hello });
    else this.#refuse(socket, second);
  }

  async #secured(pending: PendingConnection, from: string): Promise<Socket> {
    const raw = pending.socket;
    const isTls = looksLikeTls(await firstBytes(raw));
    pending.heard();
    // A member without a key has to be told; TLS would only see a broken record.
    if (isTls !== (this.#security !== undefined)) throw this.#otherKeying(raw, isTls, from);
    if (this.#security === undefined) return raw;
    const secured = this.#security.server(raw);
    await provenServer(secured, from, this.#security.keyName);
    pending.proven();
    return secured;
  }

  async #readHello(socket: Socket, reader: FrameReader): Promise<Hello | ForeignHello> {
    const frame = await nextFrame(socket, reader);
    if (frame.type !== FrameType.HELLO) throw protocolError(`frame type ${frame.type} came instead of HELLO`);
    return decodeHello(frame.payload, this.#version);
  }

  #otherKeying(socket: Socket, isTls: boolean, from: string): MeshError {
    const how = isTls
      ? 'uses a key, and this member does not'
      : `does not use a key, and this member uses ${this.#security?.keyName}`;
    const text = `a connection from ${from} ${how}; ${SAME_KEY_ADVICE}`;
    const error = new MeshError('ERR_RDMC_MESH_WRONG_KEY', text);
    this.#reject(socket, error);
    return error;
  }

  #refuse(socket: Socket, error: MeshError): void {
    this.#reject(socket, error);
    this.#events.refused(error);
  }

  #reject(socket: Socket, { code, message, holder }: MeshError): void {
    socket.write(encodeReject({ version: this.#version, code, message: clipText(message), holder }));
    socket.destroySoon();
  }
}

async function listening(given: ResolvedOptions['server'], host: string, port: number): Promise<Server> {
  const ready = givenServer(given);
  if (ready !== undefined) {
    // The code that reserved the port may refuse early callers; from here on they are accepted.
    ready.removeAllListeners('connection');
    return ready;
  }
  const server = createServer();
  server.listen(given !== undefined && 'fd' in given ? { fd: given.fd } : { host, port });
  await once(server, 'listening');
  return server;
}

function givenServer(given: ResolvedOptions['server']): Server | undefined {
  return given instanceof Server ? given : undefined;
}
