import { randomUUID } from 'node:crypto';
import type { Server, Socket } from 'node:net';
import { settledWithin, throwIfAborted } from '@rdmc/common';
import {
  ENDING_CASTS_MS,
  EXPIRY_INTERVAL_MS,
  MAX_CASTS,
  MAX_HANDSHAKES,
  REFILL_DELAY_MS,
} from './constants.js';
import { AbortError, CastError } from './errors.js';
import { eventQueue } from './event-queue.js';
import { KeyedListener } from './keyed-listener.js';
import { SharedName } from './memory/shared/shared-name.js';
import { listenAt } from './ports.js';
import { type CheckedReceiveOptions, checkReceiveOptions } from './receive-options.js';
import { GatheredReception } from './receiver/gathered-reception.js';
import { handshake } from './receiver/handshake.js';
import { Reception } from './receiver/reception.js';
import type { RunningReception } from './receiver/running-reception.js';
import { WriterThreads } from './receiver/writer-threads.js';
import type { ReceiverEvent } from './receiver-events.js';
import type { ReceiveOptions } from './receiver-options.js';
import { SpareNode } from './spare-node.js';

/** Takes casts until it is closed. Iterating gives its events; iterating is optional, and allows one consumer. */
export interface FileReceiver extends AsyncIterable<ReceiverEvent>, AsyncDisposable {
  /** The address on which it listens. */
  readonly address: { readonly host: string; readonly port: number };
  /** Aborted when it stops taking casts. */
  readonly signal: AbortSignal;
  /** Resolves when everything is closed and incomplete files are removed. */
  readonly closed: Promise<void>;
  /** Ends the casts in progress, removes incomplete files, and stops listening. Idempotent. */
  close(): Promise<void>;
}

/**
 * Listens for casts and stores their files in a directory, or gives them to sinks or to memory. Before it listens it checks that
 * it can write there, and removes temporary files of receivers that were killed.
 *
 * @throws CastError ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_OPTION, ERR_RDMC_KEY_REQUIRED, ERR_RDMC_ADDRESS_IN_USE,
 *   ERR_RDMC_LISTEN_FAILED, ERR_RDMC_NOT_FOUND, ERR_RDMC_NOT_A_DIRECTORY, ERR_RDMC_PERMISSION,
 *   ERR_RDMC_READ_ONLY, ERR_RDMC_WRITE_FAILED, ERR_RDMC_SHARED_NAME_IN_USE; AbortError; MeshError ERR_RDMC_MESH_WEAK_KEY,
 *   ERR_RDMC_MESH_USER_KEY
 */
export async function receiveFiles(options: ReceiveOptions): Promise<FileReceiver> {
  const checked = checkReceiveOptions(options);
  throwIfAborted('the receiver', checked.signal);
  const writers = new WriterThreads();
  const removed = await writers.prepare(prepareOrder(checked));
  if (removed.length > 0) checked.logger?.info?.({ removed }, 'removed leftovers of terminated receivers');
  let shared: SharedName | undefined;
  try {
    if (checked.sharedMemory !== undefined) shared = SharedName.claim(checked.sharedMemory);
    const server = await listenAt(checked.host, checked.port);
    if (!checked.signal?.aborted) return new ListeningReceiver(checked, server, writers, shared);
    server.close();
    throw new AbortError('the receiver', checked.signal);
  } catch (error) {
    shared?.release();
    await writers.end();
    throw error;
  }
}

/** Undefined where files go to sinks. */
function prepareOrder({ directory, resumeLimit: limit, resume }: CheckedReceiveOptions) {
  return directory === undefined ? undefined : { directory, limit, resume };
}

class ListeningReceiver extends KeyedListener<ReceiverEvent> implements FileReceiver {
  readonly #instance = randomUUID();
  /** Number of connections that have proved the key. */
  #handshaking = 0;
  readonly #receptions = new Map<RunningReception, Promise<void>>();
  readonly #expiry: NodeJS.Timeout;
  readonly #spare = new SpareNode();
  #refilling: NodeJS.Timeout | undefined;

  constructor(
    private readonly options: CheckedReceiveOptions,
    server: Server,
    private readonly writers: WriterThreads,
    private readonly shared: SharedName | undefined,
  ) {
    super(
      options,
      server,
      eventQueue('a receiver', ({ castId }) => castId),
    );
    this.#refill();
    this.#expiry = setInterval(() => writers.expire(prepareOrder(options)), EXPIRY_INTERVAL_MS).unref();
  }

  protected override closeReason(): CastError {
    return new CastError('ERR_RDMC_RECEIVER_CLOSED', 'the receiver is closed');
  }

  protected override async endWork(): Promise<void> {
    clearInterval(this.#expiry);
    clearTimeout(this.#refilling);
    for (const reception of this.#receptions.keys()) reception.abort();
    await Promise.all([...this.#receptions.values(), this.writers.end(), this.#spare.end()]);
    this.shared?.release();
  }

  protected override async admit(socket: Socket): Promise<void> {
    const introduced = await this.#handshake(socket);
    if (introduced) this.#receive(introduced);
  }

  async #handshake(socket: Socket): ReturnType<typeof handshake> {
    const isFull = this.#handshaking >= MAX_HANDSHAKES;
    const busy = (): boolean => isFull || this.#isTaken || this.isClosing;
    this.#handshaking += 1;
    try {
      return await handshake(socket, this.#instance, busy);
    } finally {
      this.#handshaking -= 1;
    }
  }

  /**
   * With `once`, the end of the first cast would end a second one, and both would be written to one output. A name of shared
   * memory has one cast.
   */
  get #isTaken(): boolean {
    if (this.#receptions.size >= MAX_CASTS) return true;
    const { once, sharedMemory } = this.options;
    const counted = [...this.#receptions.keys()].filter(({ isCounted }) => isCounted);
    return once ? counted.length > 0 : sharedMemory !== undefined && counted.some(({ isActive }) => isActive);
  }

  #receive({ channel, frames, invitation }: NonNullable<Awaited<ReturnType<typeof handshake>>>): void {
    const report = (event: ReceiverEvent): void => this.events.push(event);
    // Threads of the next cast would take time and memory from this one.
    clearTimeout(this.#refilling);
    const ending = [...this.#receptions].flatMap(([each, over]) => (each.isEnding ? [over] : []));
    const { options, writers } = this;
    const { gathering } = invitation;
    const reception: RunningReception = gathering
      ? new GatheredReception({ channel, invitation, gathering, options, report })
      : new Reception(channel, invitation, options, { writer: writers.take(), spare: this.#spare }, report);
    // This cast may continue one that has just been interrupted, when that has put its files away.
    const ready = ending.length === 0 ? undefined : settledWithin(Promise.all(ending), ENDING_CASTS_MS);
    const over = Promise.resolve(ready)
      .then(() => reception.run(frames))
      .then(() => {
        this.#receptions.delete(reception);
        if (this.options.once && reception.isCounted) void this.close();
        else this.#refillLater();
      });
    this.#receptions.set(reception, over);
    if (this.isClosing) reception.abort();
  }

  /** A receiver that is closed after its cast, or gets the next one at once, starts no threads that nobody needs. */
  #refillLater(): void {
    if (this.isClosing || this.#receptions.size > 0) return;
    clearTimeout(this.#refilling);
    this.#refilling = setTimeout(() => this.#refill(), REFILL_DELAY_MS).unref();
  }

  /** Starts the threads of the next cast. A trace names the member, which is not known yet. */
  #refill(): void {
    this.writers.refill();
    if (this.options.trace === undefined) this.#spare.refill();
  }
}
