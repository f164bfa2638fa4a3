import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { onAbort, SerialQueue, SilenceTimer, settledWithin, within } from '@rdmc/common';
import {
  CAST_PROTOCOL_VERSION,
  DEFAULT_STALL_TIMEOUT_MS,
  HEARTBEAT_MS,
  LAST_FRAME_TIMEOUT_MS,
  PULL_SET_BYTES,
} from '../constants.js';
import { reasonOf } from '../control/control-channel.js';
import { BlockSet } from '../delta/block-set.js';
import { AbortError, CastError, codeOf, protocolError, toCastError } from '../errors.js';
import { SOFTWARE } from '../identity.js';
import type { Latest } from '../latest.js';
import { ProblemList } from '../problems.js';
import { callServer, type ServerChannel } from './call-server.js';
import type { CheckedFetchOptions } from './fetch-options.js';
import type { FetchProgress, FetchSummary } from './fetch-summary.js';
import type { ServerFrame, ServerFrameOf } from './frames.js';
import { HASH_BYTES } from './hash-tree.js';
import { PieceReceiver } from './piece-receiver.js';
import { PullWriterThread } from './pull-writer-thread.js';
import { isOrigin } from './roles.js';
import type { PulledReport } from './writer-orders.js';

type Frames = AsyncIterator<ServerFrame, void, undefined>;
type Offer = ServerFrameOf<'offer'>;

/** The server has proved itself, and offers something. */
interface Opened {
  readonly channel: ServerChannel;
  readonly frames: Frames;
  readonly offer: Offer;
}

/** One fetch: asks the server, says what is here, receives what is missing, stores. */
export class FetchSession {
  readonly #over = new AbortController();
  readonly #writer = new PullWriterThread();
  readonly #began = performance.now();
  readonly #runs = new SerialQueue();
  readonly #work = new SerialQueue();
  #silence: SilenceTimer | undefined;
  #heartbeat: NodeJS.Timeout | undefined;
  #channel: ServerChannel | undefined;
  #receiver: PieceReceiver | undefined;
  #part = new AbortController();
  #phase: FetchProgress['phase'] = 'connecting';
  #totalBytes = 0;
  #listed = { frames: 0, entries: 0, hashes: 0 };
  #isCompared = false;
  #report: PulledReport | undefined;

  constructor(
    private readonly options: CheckedFetchOptions,
    private readonly latest: Latest<FetchProgress>,
  ) {}

  /** @throws CastError, AbortError */
  async run(): Promise<FetchSummary> {
    const { signal } = this.options;
    const forget = onAbort(signal, () => this.#over.abort(new AbortError('the fetch', signal!)));
    let failure: CastError | AbortError | undefined;
    try {
      const summary = await within(this.#fetch(), { signal: this.#over.signal });
      this.#enter('done');
      return summary;
    } catch (error) {
      // The interrupted operation may fail first, with another error.
      if (signal?.aborted) failure = new AbortError('the fetch', signal);
      else failure = this.#asCastError(this.#over.signal.aborted ? this.#over.signal.reason : error);
      throw failure;
    } finally {
      forget();
      await this.#end(failure);
    }
  }

  async #fetch(): Promise<FetchSummary> {
    this.#enter('connecting');
    const { directory, fsync } = this.options;
    // The directory is checked before the server is called.
    await this.#writer.open({ directory, castId: randomUUID(), fsync });
    const { channel, frames, offer } = await callServer(this.options, this.#over.signal, (called) =>
      this.#ask(called),
    );
    this.#enter('comparing');
    await this.#follow(channel, frames, offer);
    return this.#summary(offer);
  }

  /** Asks, checks the server's proof, and waits for its offer: it may have to hash first. */
  async #ask(channel: ServerChannel): Promise<Opened> {
    this.#channel = channel;
    this.#listen(DEFAULT_STALL_TIMEOUT_MS);
    clearInterval(this.#heartbeat);
    const { name, keys, server } = this.options;
    const frames = channel[Symbol.asyncIterator]();
    try {
      channel.send({
        type: 'ask',
        version: CAST_PROTOCOL_VERSION,
        software: SOFTWARE,
        hostName: hostname(),
        name,
      });
      this.#heartbeat = setInterval(() => this.#sendProgress(channel), HEARTBEAT_MS);
      const proof = await this.#expect(frames, 'proof');
      if (!isOrigin(channel.socket, keys.origin, Buffer.from(proof.signature, 'hex'))) {
        const message = `the server ${server} does not have the key that this key for fetching was made from; nothing was fetched`;
        throw new CastError('ERR_RDMC_ORIGIN_NOT_PROVED', message);
      }
      const offer = await this.#expect(frames, 'offer');
      this.#listen(offer.stallTimeoutMs);
      return { channel, frames, offer };
    } catch (error) {
      clearInterval(this.#heartbeat);
      channel.destroy();
      throw error;
    }
  }

  /** The server sends something at least once a second. */
  #listen(limitMs: number): void {
    this.#silence?.stop();
    this.#silence = new SilenceTimer(HEARTBEAT_MS, limitMs, () => {
      const message = `the server ${this.options.server} has sent nothing for ${limitMs} ms`;
      this.#fail(new CastError('ERR_RDMC_SENDER_LOST', message));
    });
  }

  async #expect<T extends 'proof' | 'offer'>(frames: Frames, type: T): Promise<ServerFrameOf<T>> {
    for (;;) {
      const { value: frame, done } = await frames.next();
      if (done) throw this.#lost(undefined);
      this.#silence?.heard();
      if (frame.type === 'abort') throw this.#aborted(frame);
      if (frame.type === type) return frame as ServerFrameOf<T>;
      if (frame.type !== 'pulse') throw protocolError(`the server sent '${frame.type}' instead of '${type}'`);
    }
  }

  /** Resolves when everything is stored. */
  async #follow(channel: ServerChannel, frames: Frames, offer: Offer): Promise<void> {
    while (this.#report === undefined) {
      const { value: frame, done } = await frames.next();
      this.#over.signal.throwIfAborted();
      if (done) throw this.#lost(undefined);
      this.#silence?.heard();
      if (frame.type === 'finish') await this.#finish(channel);
      else await this.#take(channel, frame, offer);
    }
  }

  async #take(channel: ServerChannel, frame: ServerFrame, offer: Offer): Promise<void> {
    switch (frame.type) {
      case 'pulse':
        return;
      case 'entries':
      case 'hashes':
        await this.#list(frame);
        this.#compareWhenListed(channel, offer);
        return;
      case 'mesh':
        this.#orFail(this.#runs.run(() => this.#join(channel, frame, offer)));
        return;
      case 'run':
        this.#part = new AbortController();
        this.#orFail(this.#runs.run(() => this.#run(channel, frame, this.#part.signal)));
        return;
      case 'part':
        this.#part.abort();
        return;
      case 'withdrawn':
        this.#orFail(this.#work.run(() => this.#writer.withdraw(frame)));
        return;
      case 'abort':
        throw this.#aborted(frame);
      default:
        throw protocolError(`the server sent an unexpected '${frame.type}'`);
    }
  }

  async #list(frame: ServerFrameOf<'entries'> | ServerFrameOf<'hashes'>): Promise<void> {
    if (this.#isCompared) throw protocolError('the server sent more than it had offered');
    this.#listed.frames += 1;
    if (frame.type === 'entries') {
      this.#listed.entries += frame.count;
      await this.#writer.entries(frame);
    } else {
      this.#listed.hashes += Buffer.byteLength(frame.data, 'base64') / HASH_BYTES;
      await this.#writer.hashes(frame);
    }
  }

  #compareWhenListed(channel: ServerChannel, { entries, pieces, root }: Offer): void {
    const { frames, entries: listed, hashes } = this.#listed;
    if (frames === 0 || listed < entries || hashes < pieces) return;
    this.#isCompared = true;
    const { compare } = this.options;
    this.#orFail(
      this.#work.run(async () => {
        const { bits, lackingBytes } = await this.#writer.begin({ root, compare });
        this.#totalBytes = lackingBytes;
        this.#sendHave(channel, new BlockSet(pieces, bits));
      }),
    );
  }

  #sendHave(channel: ServerChannel, set: BlockSet): void {
    const bits = Buffer.from(set.bits);
    let first = 0;
    do {
      const data = bits.subarray(first, first + PULL_SET_BYTES);
      const last = first + PULL_SET_BYTES >= bits.length;
      channel.send({ type: 'have', first: first * 8, data: data.toString('base64'), last });
      first += PULL_SET_BYTES;
    } while (first < bits.length);
  }

  async #join(channel: ServerChannel, frame: ServerFrameOf<'mesh'>, offer: Offer): Promise<void> {
    if (this.#receiver) throw protocolError('the server sent the mesh twice');
    this.#receiver = await PieceReceiver.join(channel.localHost, frame, offer, {
      writer: this.#writer,
      options: this.options,
      signal: this.#over.signal,
      onStoreError: (error) => this.#fail(this.#asCastError(error)),
    });
    this.#enter('receiving');
    channel.send({ type: 'joined' });
  }

  async #run(channel: ServerChannel, frame: ServerFrameOf<'run'>, part: AbortSignal): Promise<void> {
    if (!this.#receiver) throw protocolError('a run came before the mesh');
    const { messages, broken } = await this.#receiver.run(frame, part);
    channel.send({ type: 'took', run: frame.run, messages, broken: [...broken] });
  }

  async #finish(channel: ServerChannel): Promise<void> {
    if (!this.#isCompared) throw protocolError('the server ended the fetch before it had begun');
    // Everything is here: the disk may take longer than the server may be silent, and the server is not needed for that.
    this.#silence?.stop();
    await this.#runs.idle();
    await this.#work.idle();
    this.#enter('finishing');
    const report = await this.#writer.finish();
    const { files, bytes, problemCount } = report;
    channel.send({ type: 'done', files, bytes, problemCount });
    this.#report = report;
  }

  #summary({ root, skipped, problems: theirs, problemCount: theirCount }: Offer): FetchSummary {
    const { problems: ours, problemCount: ourCount, ...stored } = this.#report!;
    const problems = new ProblemList();
    problems.addAll(theirs, theirCount);
    problems.addAll(ours, ourCount);
    return {
      ...{ root, skipped, ...stored },
      encrypted: this.#receiver?.isEncrypted === true,
      seconds: (performance.now() - this.#began) / 1000,
      problems: problems.kept,
      problemCount: problems.count,
    };
  }

  #sendProgress(channel: ServerChannel): void {
    channel.send({
      type: 'progress',
      receivedMessages: this.#receiver?.messages ?? 0,
      partialBytes: this.#receiver?.partialBytes ?? 0,
      storedMessages: this.#writer.storedMessages,
      storedBytes: this.#writer.receivedBytes,
      writerBusyMs: this.#writer.busyMs,
    });
    this.#publish();
  }

  #enter(phase: FetchProgress['phase']): void {
    this.#phase = phase;
    this.#publish();
  }

  #publish(): void {
    this.latest.set({
      phase: this.#phase,
      totalBytes: this.#totalBytes,
      storedBytes: this.#writer.receivedBytes,
      members: this.#receiver?.members ?? 0,
    });
  }

  #orFail(action: Promise<void>): void {
    action.catch((error: unknown) => this.#fail(this.#asCastError(error)));
  }

  #fail(error: CastError): void {
    this.#over.abort(error);
  }

  #aborted({ code, message }: ServerFrameOf<'abort'>): CastError {
    // ERR_RDMC_ABORTED is an abort of this end.
    const ours = code === 'ERR_RDMC_ABORTED' ? 'ERR_RDMC_SENDER_LOST' : code;
    return new CastError(ours, `the server ${this.options.server}: ${message}`);
  }

  #lost(cause: unknown): CastError {
    const message = `the server ${this.options.server} was lost: ${reasonOf(cause)}`;
    return new CastError('ERR_RDMC_SENDER_LOST', message, { cause });
  }

  #asCastError(error: unknown): CastError {
    if (error instanceof CastError) return error;
    return codeOf(error)?.startsWith('ERR_RDMC_')
      ? toCastError(error, 'ERR_RDMC_SENDER_LOST')
      : this.#lost(error);
  }

  /** Ends everything; only complete files stay. */
  async #end(failure: CastError | AbortError | undefined): Promise<void> {
    this.#over.abort(failure);
    this.#part.abort();
    this.#silence?.stop();
    clearInterval(this.#heartbeat);
    const told =
      failure && ({ type: 'failed', code: failure.code, message: failure.message.slice(0, 4096) } as const);
    const closed = this.#channel?.end(told);
    // The writer uses the memory of the receiver's node, so it ends first.
    await this.#writer.end();
    await settledWithin(this.#runs.idle(), LAST_FRAME_TIMEOUT_MS);
    await this.#receiver?.close();
    await closed;
  }
}
