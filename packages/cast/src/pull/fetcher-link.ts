import { once } from 'node:events';
import { Deferred } from '@rdmc/common';
import type { ControlChannel } from '../control/control-channel.js';
import { reasonOf } from '../control/control-channel.js';
import { BlockSet } from '../delta/block-set.js';
import { type AbortError, CastError, codeOf, messageOf, protocolError } from '../errors.js';
import type { FetcherFrame, FetcherFrameOf, ServerFrame } from './frames.js';

type Channel = ControlChannel<ServerFrame, FetcherFrame>;
type Frames = AsyncIterator<FetcherFrame, void, undefined>;
/** What a fetcher says after a run. */
export type Took = FetcherFrameOf<'took'>;

const NOTHING = {
  receivedMessages: 0,
  partialBytes: 0,
  storedMessages: 0,
  storedBytes: 0,
  writerBusyMs: 0,
};

/** One fetcher at the server: its control connection, and what it has said. */
export class FetcherLink {
  /** Its member id in the mesh of its swarm. */
  id = 0;
  /** For the stall watch. */
  silentMs = 0;
  progress = NOTHING;
  done: FetcherFrameOf<'done'> | undefined;
  failure: CastError | undefined;
  /** Runs that failed because of it while this connection was open. */
  blames = 0;
  /** Messages that were not those of the server when they arrived. */
  brokenMessages = 0;
  /** Bytes of the pieces that it lacked at first; undefined until it has said that. */
  lackingBytes: number | undefined;
  /** Resolves when it has failed, and when its connection has ended. */
  readonly down: Promise<void>;
  readonly #down = new Deferred<void>();
  #finished: Deferred<void> | undefined;
  /** Pieces that it has; set by the swarm. */
  #has: BlockSet | undefined;
  #have: Deferred<BlockSet> | undefined;
  #joined: Deferred<void> | undefined;
  #led: { readonly run: number; readonly answer: Deferred<boolean> } | undefined;
  #took: { readonly run: number; readonly answer: Deferred<Took> } | undefined;

  constructor(
    private readonly channel: Channel,
    readonly ask: Pick<FetcherFrameOf<'ask'>, 'hostName' | 'name'>,
    /** For messages. */
    readonly name = `${ask.hostName} (${channel.remoteHost})`,
  ) {
    this.down = this.#down.promise;
  }

  get alive(): boolean {
    return this.failure === undefined;
  }

  /** Whether it stores the last of what it has got. */
  get isFinishing(): boolean {
    return this.#finished !== undefined;
  }

  /** The server's address as this fetcher reaches it. */
  get localHost(): string {
    return this.channel.localHost;
  }

  get remoteHost(): string {
    return this.channel.remoteHost;
  }

  send(frame: ServerFrame): void {
    this.channel.send(frame);
  }

  /** As `send`, and waits until there is room for more. Resolves also when the fetcher is lost. */
  async sendSlowly(frame: ServerFrame): Promise<void> {
    this.send(frame);
    const { socket } = this.channel;
    if (socket.writableNeedDrain) await Promise.race([once(socket, 'drain').catch(() => {}), this.down]);
  }

  /** Reads frames until the connection ends. */
  async follow(frames: Frames): Promise<void> {
    try {
      for (;;) {
        const { value: frame, done } = await frames.next();
        if (done) break;
        this.silentMs = 0;
        this.#take(frame);
      }
      this.fail(this.#lost(undefined));
    } catch (error) {
      this.fail(this.#lost(error));
    }
    // Also where it has everything, and served on.
    this.#down.resolve();
  }

  /** Resolves with the pieces that it has; undefined where it fails first. */
  have(pieces: number): Promise<BlockSet | undefined> {
    this.#has = new BlockSet(pieces);
    this.#have = new Deferred();
    return this.#unlessDown(this.#have.promise);
  }

  /** Resolves with true when it has joined the mesh, with false where it fails first. */
  async joined(): Promise<boolean> {
    this.#joined = new Deferred();
    return (await this.#unlessDown(this.#joined.promise.then(() => true))) === true;
  }

  /** Call before the run begins. Resolves with what it got; undefined where it fails first. */
  took(run: number): Promise<Took | undefined> {
    const answer = new Deferred<Took>();
    this.#took = { run, answer };
    return this.#unlessDown(answer.promise);
  }

  /** Resolves when it has led a run: whether the group came to its end. */
  async led(run: number): Promise<boolean> {
    const answer = new Deferred<boolean>();
    this.#led = { run, answer };
    return (await this.#unlessDown(answer.promise)) === true;
  }

  /** It has everything, and does not serve on any more. */
  release({ code, message }: CastError | AbortError): void {
    void this.channel.end({ type: 'abort', code, message });
  }

  /** It lacks nothing: resolves when it has stored everything, or has failed. */
  finish(): Promise<void> {
    this.#finished = new Deferred();
    this.send({ type: 'finish' });
    return this.#unlessDown(this.#finished.promise);
  }

  /** Drops the fetcher. Only the first failure counts. */
  fail(error: CastError): void {
    if (this.failure || this.done) return;
    this.failure = error;
    this.#down.resolve();
    void this.channel.end({ type: 'abort', code: error.code, message: error.message });
  }

  /** The server closes. */
  async close(reason?: CastError | AbortError): Promise<void> {
    await this.channel.end(reason && { type: 'abort', code: reason.code, message: reason.message });
  }

  async #unlessDown<T>(promise: Promise<T>): Promise<T | undefined> {
    return Promise.race([promise, this.down.then(() => undefined)]);
  }

  #take(frame: FetcherFrame): void {
    if (frame.type === 'progress') this.#takeProgress(frame);
    else if (frame.type === 'have' && this.#have) this.#takeSet(frame, this.#have);
    else if (frame.type === 'joined' && this.#joined) this.#joined.resolve();
    else if (frame.type === 'took' && this.#took?.run === frame.run) {
      this.#took.answer.resolve(frame);
      this.#took = undefined;
    } else if (frame.type === 'led' && this.#led?.run === frame.run) this.#led.answer.resolve(frame.isWhole);
    else if (frame.type === 'done' && this.#finished) {
      this.done = frame;
      this.#finished.resolve();
    } else if (frame.type === 'failed') {
      this.fail(new CastError(frame.code, `${this.name}: ${frame.message}`, { receiver: this.name }));
    } else throw protocolError(`${this.name} sent an unexpected '${frame.type}'`);
  }

  #takeProgress({ type: _, ...progress }: FetcherFrameOf<'progress'>): void {
    const { receivedMessages, storedMessages } = progress;
    if (receivedMessages < this.progress.receivedMessages || storedMessages < this.progress.storedMessages)
      throw protocolError(`${this.name} reports fewer messages than before; it was dropped`);
    if (storedMessages > receivedMessages)
      throw protocolError(`${this.name} reports more stored messages than received ones; it was dropped`);
    this.progress = progress;
  }

  /** A part of the set; bits beyond the last piece are wrong. */
  #takeSet({ first, data, last }: FetcherFrameOf<'have'>, answer: Deferred<BlockSet>): void {
    const set = this.#has!;
    const bytes = Buffer.from(data, 'base64');
    if (first % 8 !== 0 || first / 8 + bytes.length > set.bits.length)
      throw protocolError(`${this.name} says that it has pieces that do not exist`);
    set.bits.set(bytes, first / 8);
    if (!last) return;
    const beyond = set.bits.length * 8 - set.blocks;
    if (beyond > 0 && set.bits.at(-1)! >> (8 - beyond) !== 0)
      throw protocolError(`${this.name} says that it has pieces that do not exist`);
    this.#have = undefined;
    answer.resolve(set);
  }

  #lost(error: unknown): CastError {
    if (error instanceof CastError) return error;
    const known = codeOf(error)?.startsWith('ERR_RDMC_') ? codeOf(error)! : 'ERR_RDMC_RECEIVER_LOST';
    const why = error === undefined ? reasonOf(error) : messageOf(error);
    return new CastError(known, `${this.name} was lost: ${why}`, { cause: error, receiver: this.name });
  }
}
