import { randomUUID } from 'node:crypto';
import { closeSync } from 'node:fs';
import type { Server, Socket } from 'node:net';
import { settledWithin, throwIfAborted } from '@rdmc/common';
import { LAST_FRAME_TIMEOUT_MS, MAX_HANDSHAKES, MAX_SWARMS, SENDER_HEARTBEAT_MS } from '../constants.js';
import { ControlChannel, peerOf } from '../control/control-channel.js';
import { AbortError, CastError, codeOf, messageOf, protocolError } from '../errors.js';
import { eventQueue } from '../event-queue.js';
import { SOFTWARE } from '../identity.js';
import { KeyedListener } from '../keyed-listener.js';
import { listenAt } from '../ports.js';
import { openReceivingDirectory } from '../writer/usable-directory.js';
import { FetcherLink } from './fetcher-link.js';
import { type FetcherFrame, pullShapes, type ServerFrame } from './frames.js';
import { ReaderPool } from './reader-pool.js';
import { proveOrigin } from './roles.js';
import type { ServeEvent } from './serve-events.js';
import { type CheckedServeOptions, checkServeOptions, type ServeOptions } from './serve-options.js';
import { Swarm } from './swarm.js';

/** Serves a directory until it is closed. Iterating gives its events; iterating is optional, and allows one consumer. */
export interface FileServer extends AsyncIterable<ServeEvent>, AsyncDisposable {
  /** The address on which it listens. */
  readonly address: { readonly host: string; readonly port: number };
  /** Aborted when it stops serving. */
  readonly signal: AbortSignal;
  /** Resolves when everything is closed. */
  readonly closed: Promise<void>;
  /** Ends the fetches in progress, and stops listening. Idempotent. */
  close(): Promise<void>;
}

/**
 * Serves a directory to `fetchFiles`. Fetchers that ask for the same name form one cast: a late one joins between two
 * messages, gets the rest with the others, and the beginning afterwards, together with all others that lack it. Only
 * directories and regular files are served; symbolic links are not followed.
 *
 * @throws CastError ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_OPTION, ERR_RDMC_KEY_REQUIRED, ERR_RDMC_WRONG_ROLE,
 *   ERR_RDMC_NOT_FOUND, ERR_RDMC_NOT_A_DIRECTORY, ERR_RDMC_PERMISSION, ERR_RDMC_ADDRESS_IN_USE, ERR_RDMC_LISTEN_FAILED;
 *   AbortError
 */
export async function serveFiles(options: ServeOptions): Promise<FileServer> {
  const checked = checkServeOptions(options);
  throwIfAborted('the server', checked.signal);
  closeSync(openReceivingDirectory(checked.directory));
  const server = await listenAt(checked.host, checked.port);
  if (!checked.signal?.aborted) return new ListeningServer(checked, server);
  server.close();
  throw new AbortError('the server', checked.signal);
}

class ListeningServer extends KeyedListener<ServeEvent> implements FileServer {
  /** Number of connections that have proved the key, and have not asked. */
  #greeting = 0;
  readonly #readers = new ReaderPool();
  /** By name and address; others have ended, or have become stale. */
  readonly #swarms = new Map<string, Swarm>();
  /** All swarms whose fetchers are being served. */
  readonly #active = new Set<Swarm>();
  readonly #serving = new Set<Promise<void>>();

  constructor(
    private readonly options: CheckedServeOptions,
    server: Server,
  ) {
    super(
      options,
      server,
      eventQueue('a server', (event) => (event.type === 'sent' ? undefined : event.fetchId)),
    );
  }

  protected override closeReason(): CastError {
    return new CastError('ERR_RDMC_ABORTED', 'the server was closed');
  }

  protected override async endWork(reason: CastError): Promise<void> {
    for (const swarm of this.#active) swarm.abort(reason);
    await Promise.all(this.#serving);
    await this.#readers.end();
  }

  protected override async admit(socket: Socket): Promise<void> {
    const link = await this.#greet(socket);
    if (!link) return;
    const serving = this.#serve(link);
    this.#serving.add(serving);
    void serving.finally(() => this.#serving.delete(serving));
  }

  /** Waits for the question of a fetcher. Undefined where it disconnects. @throws CastError, which it was told */
  async #greet(socket: Socket): Promise<FetcherLink | undefined> {
    const channel = new ControlChannel<ServerFrame, FetcherFrame>(socket, pullShapes.fetcher, peerOf(socket));
    const frames = channel[Symbol.asyncIterator]();
    this.#greeting += 1;
    try {
      if (this.#greeting > MAX_HANDSHAKES) throw busy('many connections are being opened');
      const { value, done } = await frames.next();
      if (done) return undefined;
      if (value.type !== 'ask') throw protocolError(`received '${value.type}' instead of 'ask'`);
      const signature = proveOrigin(socket, this.options.keys.signer).toString('hex');
      channel.send({ type: 'proof', signature, software: SOFTWARE });
      const link = new FetcherLink(channel, value);
      void link.follow(frames);
      return link;
    } catch (error) {
      const code = error instanceof CastError ? codeOf(error)! : 'ERR_RDMC_CAST_PROTOCOL';
      await channel.end({ type: 'abort', code, message: messageOf(error) });
      throw error;
    } finally {
      this.#greeting -= 1;
    }
  }

  async #serve(link: FetcherLink): Promise<void> {
    const { name } = link.ask;
    const key = `${name}\0${link.localHost}`;
    await this.#check(key, link);
    const known = this.#swarms.get(key);
    if (known && !known.isStale) {
      await known.serve(link);
      await this.#endIdle(key, known);
      return;
    }
    if (this.isClosing || this.#active.size >= MAX_SWARMS) {
      link.fail(busy(`it serves ${MAX_SWARMS} names at the moment`));
      return;
    }
    const reader = this.#readers.take(name);
    const report = (event: ServeEvent): void => this.events.push(event);
    const { options } = this;
    const look = () => reader.survey({ directory: options.directory, name: Buffer.from(name) });
    const origin = { name, castId: randomUUID(), localHost: link.localHost, reader };
    const swarm = new Swarm({ ...origin, facts: look(), look, least: 1, options, report });
    this.#swarms.set(key, swarm);
    this.#active.add(swarm);
    void swarm.ended.then((isFree) => (isFree ? this.#readers.give(name, reader) : undefined));
    await swarm.serve(link);
    await this.#endIdle(key, swarm);
  }

  /** Where a swarm has become stale: its reader is free soon, and knows the hashes of files that have not changed. */
  async #check(key: string, link: FetcherLink): Promise<void> {
    const known = this.#swarms.get(key);
    if (!known || known.isStale) return;
    // New files are hashed, which may take longer than the server may be silent.
    const heartbeat = setInterval(() => link.send({ type: 'pulse' }), SENDER_HEARTBEAT_MS);
    try {
      if (!(await known.isCurrent())) await settledWithin(known.ended, LAST_FRAME_TIMEOUT_MS);
    } finally {
      clearInterval(heartbeat);
    }
  }

  async #endIdle(key: string, swarm: Swarm): Promise<void> {
    if (!swarm.isIdle || !this.#active.delete(swarm)) return;
    if (this.#swarms.get(key) === swarm) this.#swarms.delete(key);
    await swarm.close();
  }
}

function busy(why: string): CastError {
  return new CastError('ERR_RDMC_BUSY', `the server cannot take another fetch: ${why}; try again later`);
}
