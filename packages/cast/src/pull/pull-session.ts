import { onAbort, SerialQueue, SilenceTimer, settledWithin, within } from '@rdmc/common';
import type { RdmcNode } from '@rdmc/group';
import { HEARTBEAT_MS, LAST_FRAME_TIMEOUT_MS } from '../constants.js';
import { MAX_TEXT } from '../control/frame-fields.js';
import { BlockSet } from '../delta/block-set.js';
import { AbortError, type CastError, protocolError } from '../errors.js';
import type { ComparisonKind } from '../manifest/policy.js';
import type { ServerChannel } from './call-server.js';
import { MAX_OFFERED_PROBLEMS, type ServerFrame, type ServerFrameOf } from './frames.js';
import { HASH_BYTES } from './hash-tree.js';
import { sendHave } from './have-frames.js';
import { PieceReceiver, type ReceiverOptions } from './piece-receiver.js';
import { PullWriterThread } from './pull-writer-thread.js';
import type { ServerErrors } from './server-errors.js';
import type { OpenPullOrder, PulledReport } from './writer-orders.js';

export type Frames = AsyncIterator<ServerFrame, void, undefined>;
export type Offer = ServerFrameOf<'offer'>;

/** The server, or the sender of a gathering cast, offers something. */
export interface Opened {
  readonly channel: ServerChannel;
  readonly frames: Frames;
  readonly offer: Offer;
}

export interface PullSessionOptions extends ReceiverOptions {
  /** For the error of an abort: 'the fetch'. */
  readonly what: string;
  readonly storage: OpenPullOrder;
  readonly compare: ComparisonKind;
  readonly signal: AbortSignal | undefined;
  readonly errors: ServerErrors;
  /** Whether this end serves on when everything is here. */
  readonly servesOn?: boolean;
  /** Whether runs must be encrypted, or must not be; undefined: the server decides. */
  readonly encrypted?: boolean | undefined;
}

/** One pull at the end that stores: says what is here, receives what is missing, stores. */
export abstract class PullSession {
  protected readonly over = new AbortController();
  protected receiver: PieceReceiver | undefined;
  protected readonly writer = new PullWriterThread();
  protected readonly errors: ServerErrors;
  /** Bytes that are not here, once that is known. */
  protected totalBytes = 0;
  readonly #runs = new SerialQueue();
  readonly #work = new SerialQueue();
  #silence: SilenceTimer | undefined;
  #heartbeat: NodeJS.Timeout | undefined;
  #channel: ServerChannel | undefined;
  #part = new AbortController();
  #listed = { frames: 0, entries: 0, hashes: 0 };
  #isCompared = false;
  #report: PulledReport | undefined;

  constructor(private readonly common: PullSessionOptions) {
    this.errors = common.errors;
  }

  /** Connects, and resolves with the offer. Calls `begin` with the channel, and `expect`. */
  protected abstract open(): Promise<Opened>;

  /** Something may have changed. */
  protected abstract publish(phase: 'comparing' | 'receiving' | 'finishing' | undefined): void;

  /** A group is formed. */
  protected formed(_node: RdmcNode, _transports: readonly string[]): void {}

  /** Everything is stored; the server is told when this resolves. Nothing else reads frames meanwhile. */
  protected async stored(_report: PulledReport, _frames: Frames): Promise<void> {}

  /** The server knows that everything is stored, and this end serves on. The signal of the options ends that. */
  protected async serveOn(_opened: Opened): Promise<void> {}

  /** @throws CastError, AbortError */
  protected async pull(): Promise<{ readonly offer: Offer; readonly report: PulledReport }> {
    const { signal, what } = this.common;
    const forget = onAbort(signal, () => this.over.abort(new AbortError(what, signal!)));
    let failure: CastError | AbortError | undefined;
    try {
      const opened = await within(this.#pull(), { signal: this.over.signal });
      const report = this.#report!;
      if (this.common.servesOn && report.problemCount === 0) await this.serveOn(opened);
      return { offer: opened.offer, report };
    } catch (error) {
      // The interrupted operation may fail first, with another error.
      if (signal?.aborted) failure = new AbortError(what, signal);
      else failure = this.errors.from(this.over.signal.aborted ? this.over.signal.reason : error);
      throw failure;
    } finally {
      forget();
      await this.#end(failure);
    }
  }

  async #pull(): Promise<Opened> {
    // The directory is checked before the server is called.
    await this.writer.open(this.common.storage);
    const opened = await this.open();
    this.publish('comparing');
    await this.#follow(opened);
    return opened;
  }

  /** The connection is open: reports to the server, and expects it to send something at least once a second. */
  protected begin(channel: ServerChannel, limitMs: number): void {
    this.#channel = channel;
    this.listen(limitMs);
    clearInterval(this.#heartbeat);
    this.#heartbeat = setInterval(() => this.#sendProgress(channel), HEARTBEAT_MS);
  }

  /** This call has failed; another one may follow. */
  protected hangUp(channel: ServerChannel): void {
    this.#silence?.stop();
    clearInterval(this.#heartbeat);
    channel.destroy();
  }

  /** The server sends something at least once a second. */
  protected listen(limitMs: number): void {
    this.#silence?.stop();
    this.#silence = new SilenceTimer(HEARTBEAT_MS, limitMs, () => this.fail(this.errors.silent(limitMs)));
  }

  protected async expect<T extends 'proof' | 'offer'>(frames: Frames, type: T): Promise<ServerFrameOf<T>> {
    for (;;) {
      const { value: frame, done } = await frames.next();
      if (done) throw this.errors.lost(undefined);
      this.#silence?.heard();
      if (frame.type === 'abort') throw this.errors.aborted(frame);
      if (frame.type === type) return frame as ServerFrameOf<T>;
      if (frame.type !== 'pulse') throw protocolError(`the server sent '${frame.type}' instead of '${type}'`);
    }
  }

  /** Resolves when everything is stored. */
  async #follow({ channel, frames, offer }: Opened): Promise<void> {
    while (this.#report === undefined) {
      const { value: frame, done } = await frames.next();
      this.over.signal.throwIfAborted();
      if (done) throw this.errors.lost(undefined);
      this.#silence?.heard();
      if (frame.type === 'finish') await this.#finish(channel, frames);
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
        this.#orFail(this.#runs.run(() => this.join(channel, frame, offer)));
        return;
      case 'run':
        this.#part = new AbortController();
        this.#orFail(this.#runs.run(() => this.#run(channel, frame, offer, this.#part.signal)));
        return;
      case 'part':
        this.#part.abort();
        return;
      case 'withdrawn':
        this.#orFail(this.#work.run(() => this.writer.withdraw(frame)));
        return;
      case 'abort':
        throw this.errors.aborted(frame);
      default:
        throw protocolError(`the server sent an unexpected '${frame.type}'`);
    }
  }

  async #list(frame: ServerFrameOf<'entries'> | ServerFrameOf<'hashes'>): Promise<void> {
    if (this.#isCompared) throw protocolError('the server sent more than it had offered');
    this.#listed.frames += 1;
    if (frame.type === 'entries') {
      this.#listed.entries += frame.count;
      await this.writer.entries(frame);
    } else {
      this.#listed.hashes += Buffer.byteLength(frame.data, 'base64') / HASH_BYTES;
      await this.writer.hashes(frame);
    }
  }

  #compareWhenListed(channel: ServerChannel, { entries, pieces, root }: Offer): void {
    const { frames, entries: listed, hashes } = this.#listed;
    if (frames === 0 || listed < entries || hashes < pieces) return;
    this.#isCompared = true;
    const { compare } = this.common;
    this.#orFail(
      this.#work.run(async () => {
        const { bits, lackingBytes } = await this.writer.begin({ root, compare });
        this.totalBytes = lackingBytes;
        sendHave(channel, new BlockSet(pieces, bits));
      }),
    );
  }

  /** Joins the mesh. */
  protected async join(channel: ServerChannel, frame: ServerFrameOf<'mesh'>, offer: Offer): Promise<void> {
    if (this.receiver) throw protocolError('the server sent the mesh twice');
    this.receiver = await PieceReceiver.join(channel.localHost, frame, offer, {
      writer: this.writer,
      options: this.common,
      signal: this.over.signal,
      onGroup: (node, group) => this.formed(node, group.transports),
      onStoreError: (error) => this.fail(this.errors.from(error)),
    });
    this.publish('receiving');
    channel.send({ type: 'joined' });
  }

  async #run(
    channel: ServerChannel,
    frame: ServerFrameOf<'run'>,
    { pieces }: Offer,
    part: AbortSignal,
  ): Promise<void> {
    if (!this.receiver) throw protocolError('a run came before the mesh');
    const { encrypted } = this.common;
    if (encrypted !== undefined && encrypted !== (frame.secret !== undefined))
      throw protocolError('the run is encrypted and the invitation says it is not, or the reverse');
    const { messages, broken } = await this.receiver.run(frame, part);
    if (frame.led) sendHave(channel, new BlockSet(pieces, await this.writer.pieces()));
    channel.send({ type: 'took', run: frame.run, messages, broken: [...broken] });
  }

  async #finish(channel: ServerChannel, frames: Frames): Promise<void> {
    if (!this.#isCompared) throw protocolError('the server ended the fetch before it had begun');
    // Everything is here: the disk may take longer than the server may be silent, and the server is not needed for that.
    this.#silence?.stop();
    await this.#runs.idle();
    await this.#work.idle();
    this.publish('finishing');
    const report = await this.writer.finish();
    await this.stored(report, frames);
    const { files, bytes, keptBytes, resumedBytes, unchangedFiles, unchangedBytes, problemCount } = report;
    const problems = report.problems
      .slice(0, MAX_OFFERED_PROBLEMS)
      .map(({ path, code, message }) => ({ path, code, message }));
    channel.send({
      type: 'done',
      ...{ files, bytes, keptBytes, resumedBytes, unchangedFiles, unchangedBytes, problems, problemCount },
      servesOn: this.common.servesOn === true && problemCount === 0,
    });
    this.#report = report;
  }

  #sendProgress(channel: ServerChannel): void {
    channel.send({
      type: 'progress',
      receivedMessages: this.receiver?.messages ?? 0,
      partialBytes: this.receiver?.partialBytes ?? 0,
      storedMessages: this.writer.storedMessages,
      storedBytes: this.writer.receivedBytes,
      writerBusyMs: this.writer.busyMs,
    });
    this.publish(undefined);
  }

  #orFail(action: Promise<void>): void {
    action.catch((error: unknown) => this.fail(this.errors.from(error)));
  }

  protected fail(error: CastError): void {
    this.over.abort(error);
  }

  /** Ends everything. Complete files stay, and what a later fetch can continue: see `PieceStore`. */
  async #end(failure: CastError | AbortError | undefined): Promise<void> {
    this.over.abort(failure);
    this.#part.abort();
    this.#silence?.stop();
    clearInterval(this.#heartbeat);
    const told =
      failure &&
      ({ type: 'failed', code: failure.code, message: failure.message.slice(0, MAX_TEXT) } as const);
    const closed = this.#channel?.end(told);
    // The writer uses the memory of the receiver's node, so it ends first.
    await this.writer.end();
    await settledWithin(this.#runs.idle(), LAST_FRAME_TIMEOUT_MS);
    await this.receiver?.close();
    await closed;
  }
}
