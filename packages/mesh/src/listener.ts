import { once } from 'node:events';
import { createServer, Server, type Socket } from 'node:net';
import { CLOSE_TIMEOUT_MS, HANDSHAKE_TIMEOUT_MS, SPARE_HANDSHAKES } from './constants.js';
import { MeshError, messageOf, protocolError } from './errors.js';
import { FrameReader } from './frame-reader.js';
import { clipText, FrameType } from './frames.js';
import {
  decodeHello,
  encodeHello,
  encodeReject,
  type ForeignHello,
  type Hello,
  MAX_HELLO_FRAME_BYTES,
} from './hello.js';
import type { Introduced } from './link.js';
import { describeAddress, isLoopbackHost } from './members.js';
import { keyRequired, type ResolvedOptions } from './options.js';
import {
  classifyServerFailure,
  firstBytes,
  looksLikeTls,
  nextFrame,
  prepared,
  type Security,
  socketEvent,
  TLS_HEAD_BYTES,
} from './transport.js';

export interface ListenerEvents {
  /** Why this caller is refused, or nothing. Asked after HELLO, and again after CONFIRM. */
  judge(hello: Hello | ForeignHello, from: string): MeshError | undefined;
  answer(to: number): Hello;
  connected(introduced: Introduced): void;
  /** A well-formed HELLO was refused and the caller told. */
  refused(error: MeshError): void;
  /** A connection was dropped that never introduced itself. */
  dropped(error: unknown, from: string): void;
}

/**
 * Accepts connections and lets in only those that introduce themselves. Until then a connection
 * costs little, whoever it is: their number, their time and the bytes kept of them are bounded.
 */
export class Listener {
  readonly #options: ResolvedOptions;
  readonly #security: Security | undefined;
  readonly #version: number;
  readonly #events: ListenerEvents;
  readonly #strangers = new Set<Socket>();
  #server: Server | undefined;

  constructor(
    options: ResolvedOptions,
    security: Security | undefined,
    version: number,
    events: ListenerEvents,
  ) {
    this.#options = options;
    this.#security = security;
    this.#version = version;
    this.#events = events;
  }

  /** Connections that have not introduced themselves yet. */
  get strangers(): number {
    return this.#strangers.size;
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

  async close(): Promise<void> {
    const server = this.#server ?? givenServer(this.#options.server);
    this.#server = undefined;
    for (const socket of this.#strangers) socket.destroy();
    if (!server?.listening) return;
    const closed = once(server, 'close');
    server.close();
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise((resolve) => {
      timer = setTimeout(resolve, CLOSE_TIMEOUT_MS);
    });
    await Promise.race([closed, limit]);
    clearTimeout(timer);
  }

  /** What was asked for and what is bound can differ: a server handed in, or a name. */
  #requireLoopback(server: Server): void {
    const address = server.address();
    if (!this.#options.loopbackOnly || address === null || typeof address === 'string') return;
    if (!isLoopbackHost(address.address)) throw keyRequired(`the listening socket on ${address.address}`);
  }

  #accept(socket: Socket): void {
    prepared(socket);
    const from = describeAddress({ host: socket.remoteAddress ?? '?', port: socket.remotePort ?? 0 });
    if (this.#strangers.size >= this.#options.members.length + SPARE_HANDSHAKES) {
      socket.destroy();
      this.#events.dropped(protocolError('too many connections have not introduced themselves'), from);
      return;
    }
    this.#strangers.add(socket);
    const timer = setTimeout(() => socket.destroy(), HANDSHAKE_TIMEOUT_MS);
    this.#greet(socket, from)
      .catch((error: unknown) => {
        // A refusal on its way out ends the connection by itself.
        if (!socket.writableEnded) socket.destroy();
        this.#events.dropped(error, from);
      })
      .finally(() => {
        clearTimeout(timer);
        this.#strangers.delete(socket);
      });
  }

  async #greet(raw: Socket, from: string): Promise<void> {
    const socket = await this.#secured(raw, from);
    const reader = new FrameReader(MAX_HELLO_FRAME_BYTES);
    const hello = await this.#readHello(socket, reader, from);
    const refusal = this.#events.judge(hello, from);
    if (refusal !== undefined || hello.from === undefined) {
      this.#refuse(socket, refusal!);
      return;
    }
    socket.write(encodeHello(this.#events.answer(hello.from)));
    // A caller that gave up meanwhile must not count as connected, so it has to say that it has not.
    const confirm = await nextFrame(socket, reader);
    if (confirm.type !== FrameType.CONFIRM)
      throw protocolError(`frame type ${confirm.type} in place of CONFIRM`);
    const second = this.#events.judge(hello, from);
    if (second === undefined) this.#events.connected({ socket, reader, hello });
    else this.#refuse(socket, second);
  }

  async #secured(raw: Socket, from: string): Promise<Socket> {
    if (this.#security === undefined) return raw;
    // A member without a key has to be told; TLS would only see a broken record.
    if (!looksLikeTls(await firstBytes(raw))) {
      throw this.#otherKeying(raw, `a connection from ${from} uses no cluster key, and this member has one`);
    }
    const secured = this.#security.server(raw);
    try {
      await socketEvent(secured, 'secure');
    } catch (error) {
      throw classifyServerFailure(error, from);
    }
    return secured;
  }

  async #readHello(socket: Socket, reader: FrameReader, from: string): Promise<Hello | ForeignHello> {
    try {
      const frame = await nextFrame(socket, reader);
      if (frame.type !== FrameType.HELLO) throw protocolError(`frame type ${frame.type} in place of HELLO`);
      return decodeHello(frame.payload, this.#version);
    } catch (error) {
      if (!looksLikeTls(reader.peek(TLS_HEAD_BYTES))) throw error;
      throw this.#otherKeying(
        socket,
        `a connection from ${from} uses a cluster key, and this member has none`,
      );
    }
  }

  #otherKeying(socket: Socket, message: string): MeshError {
    const error = new MeshError('ERR_RDMC_MESH_WRONG_KEY', message);
    this.#reject(socket, error);
    return error;
  }

  #refuse(socket: Socket, error: MeshError): void {
    this.#reject(socket, error);
    this.#events.refused(error);
  }

  #reject(socket: Socket, { code, message }: MeshError): void {
    socket.write(encodeReject({ version: this.#version, code, message: clipText(message) }));
    socket.destroySoon();
  }
}

async function listening(given: ResolvedOptions['server'], host: string, port: number): Promise<Server> {
  const ready = givenServer(given);
  if (ready !== undefined) {
    // Whoever reserved the port may have refused early callers; from here on they are wanted.
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
