import { Deadline } from '@rdmc/common';
import type { CastProgress, ReceiverProgress, ReceiverState } from '../cast-progress.js';
import type { Target } from '../checked-cast-options.js';
import { CAST_PROTOCOL_VERSION, MAX_SURPLUS } from '../constants.js';
import { type ControlChannel, reasonOf } from '../control/control-channel.js';
import type {
  DoneFrame,
  FinishFrame,
  HelloFrame,
  Invitation,
  ProgressFrame,
  ReceiverFrame,
  SenderFrame,
  SurplusFrame,
} from '../control/frames.js';
import {
  type AbortError,
  CastError,
  type CastErrorCode,
  codeOf,
  messageOf,
  protocolError,
} from '../errors.js';
import { SOFTWARE } from '../identity.js';
import { unpackStates } from '../manifest/packed-states.js';
import type { BlockedFile } from '../reader/block-reader.js';
import { BlockAnswers } from './block-answers.js';
import { type Dialling, dial } from './dial.js';
import type { Pump } from './pump.js';

type Channel = ControlChannel<SenderFrame, ReceiverFrame>;
type Frames = AsyncIterator<ReceiverFrame, void, undefined>;

/** Totals of the cast that a receiver tells its application. */
type Announced = Pick<Invitation, 'files' | 'directories' | 'links' | 'bytes'>;

const NOTHING: Omit<ProgressFrame, 'type'> = {
  receivedMessages: 0,
  partialBytes: 0,
  storedMessages: 0,
  writerBusyMs: 0,
};

/** One receiver at the sender: its control connection, and the state that it has reported. */
export class ReceiverLink {
  /** Its member id; assigned when the members are known. */
  id = 0;
  state: ReceiverState = 'connecting';
  hello: HelloFrame | undefined;
  meshPort = 0;
  /** Whether it checks each message by itself. */
  checked = false;
  freeBytes = 0;
  /** A state for each entry, where entries are compared. */
  states: Uint8Array = new Uint8Array(0);
  /** What it says about its older files. */
  readonly blocks = new BlockAnswers();
  /** Paths that it has and the sender does not, in a dry run. */
  readonly surplus: string[] = [];
  progress = NOTHING;
  done: DoneFrame | undefined;
  failure: CastError | undefined;
  /** The streams that it takes part in, in order; the last one may be in progress. */
  readonly pumps: Pump[] = [];
  /** How long it has sent nothing; updated by the stall watch. */
  silentMs = 0;
  /** Groups that failed because of it while this connection was open. */
  blames = 0;
  /** Resolves when it has failed. */
  readonly down: Promise<void>;
  #wentDown: () => void = () => {};
  #channel: Channel | undefined;
  #parted: { groupId: number; resolve: (receivedMessages: number) => void } | undefined;
  /** Pieces of the manifest that it has not answered. */
  readonly #offers: { first: number; count: number; answered: () => void }[] = [];
  #surplusReported: (() => void) | undefined;
  #settle: () => void = () => {};
  readonly #settled: Promise<void>;

  constructor(readonly target: Target) {
    this.down = new Promise((resolve) => {
      this.#wentDown = resolve;
    });
    this.#settled = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  get name(): string {
    return this.target.name;
  }

  get alive(): boolean {
    return this.failure === undefined;
  }

  get channel(): Channel {
    return this.#channel!;
  }

  /** Dials, invites, and then reads the receiver's frames. An error is kept in `failure`. */
  async open(dialling: Dialling, invitation: Invitation): Promise<void> {
    try {
      this.#channel = await dial(this.target, dialling);
      // Limits the whole introduction.
      const deadline = new Deadline(dialling, () => this.#channel!.destroy(this.#silent(dialling.timeoutMs)));
      try {
        await this.#introduce(invitation);
      } finally {
        deadline.clear();
      }
    } catch (error) {
      this.fail(asLinkError(error, this.name, 'ERR_RDMC_CAST_UNREACHABLE'));
    }
  }

  send(frame: SenderFrame): void {
    this.#channel?.send(frame);
  }

  /** Number of messages of all its streams that are filled so far. */
  get madeMessages(): number {
    return this.pumps.reduce((sum, { madeMessages }) => sum + madeMessages, 0);
  }

  /** Complete messages of its last stream. */
  get receivedOfStream(): number {
    return Math.max(0, this.progress.receivedMessages - this.#messagesBefore);
  }

  /** Messages of the streams before the last one. */
  get #messagesBefore(): number {
    return this.pumps.slice(0, -1).reduce((sum, { messages = 0 }) => sum + messages, 0);
  }

  /** Sends a piece of the manifest; resolves when it has answered, or has failed. */
  compare(offer: Buffer, first: number, count: number): Promise<void> {
    if (first + count > this.states.length) this.#growStates(first + count);
    const answer = new Promise<void>((answered) => this.#offers.push({ first, count, answered }));
    this.#channel?.sendEncoded(offer);
    return Promise.race([answer, this.down]);
  }

  /** Sends hashes of blocks; resolves when it has answered, or has failed. */
  compareBlocks(hashes: Buffer, file: BlockedFile, first: number, count: number): Promise<void> {
    const answered = this.blocks.expect(file, first, count);
    this.#channel?.sendEncoded(hashes);
    return Promise.race([answered, this.down]);
  }

  /** Resolves with the entries that it could not build from older files; with none where it fails first. */
  check(): Promise<ReadonlySet<number>> {
    const reported = this.blocks.expectUnbuilt();
    this.send({ type: 'check' });
    return Promise.race([reported, this.down.then(() => new Set<number>())]);
  }

  /** There are no more pieces; resolves when it has reported what it has beside them, or has failed. */
  endOffers(entries: number, { files, directories, links, bytes }: Announced): Promise<void> {
    this.states = this.states.subarray(0, entries);
    const reported = new Promise<void>((resolve) => {
      this.#surplusReported = resolve;
    });
    this.send({ type: 'offered', files, directories, links, bytes });
    return Promise.race([reported, this.down]);
  }

  #growStates(least: number): void {
    const larger = new Uint8Array(Math.max(least, 2 * this.states.length));
    larger.set(this.states);
    this.states = larger;
  }

  /**
   * Resolves with the number of complete messages of the last stream that it has, when it has left the group; undefined where it fails
   * first.
   */
  async part(groupId: number): Promise<number | undefined> {
    const parted = new Promise<number>((resolve) => {
      const before = this.#messagesBefore;
      this.#parted = { groupId, resolve: (received) => resolve(Math.max(0, received - before)) };
    });
    this.send({ type: 'part', groupId });
    return Promise.race([parted, this.down.then(() => undefined)]);
  }

  /** Asks it to store everything; resolves when it has done so, or has failed. */
  finish(facts: Omit<FinishFrame, 'type' | 'messages'>): Promise<void> {
    this.state = 'storing';
    this.send({ type: 'finish', messages: this.madeMessages, ...facts });
    return this.#settled;
  }

  /** Drops the receiver. Only the first failure counts. */
  fail(error: CastError): void {
    if (this.failure || this.done) return;
    this.failure = error;
    this.state = 'failed';
    this.#wentDown();
    this.#settle();
    void this.#channel?.end({ type: 'abort', code: error.code, message: error.message });
  }

  /** The cast is over. */
  async close(abort?: CastError | AbortError): Promise<void> {
    await this.#channel?.end(abort && { type: 'abort', code: abort.code, message: abort.message });
  }

  /** This round is over, and the receiver will be called again: another one was lost before the mesh had formed. */
  async closeRound(): Promise<void> {
    const message = 'the sender starts again without a receiver that was lost';
    await this.#channel?.end({ type: 'abort', code: 'ERR_RDMC_ABORTED', message, again: true });
  }

  /** @param totalBytes of the whole cast */
  snapshot(totalBytes: number): ReceiverProgress {
    const { receivedMessages, partialBytes, storedMessages } = this.progress;
    const failure = this.failure ?? this.#lack();
    const everything = this.done && totalBytes;
    return {
      name: this.name,
      hostName: this.hello?.hostName,
      state: failure ? 'failed' : this.state,
      receivedBytes: everything ?? this.#bytesIn(receivedMessages, partialBytes),
      storedBytes: everything ?? this.#bytesIn(storedMessages, 0),
      ...(failure && { error: { code: failure.code, message: failure.message } }),
    } satisfies CastProgress['receivers'][number];
  }

  /** It has stored what it could, and lacks some entries. */
  #lack(): CastError | undefined {
    const count = this.done?.problemCount ?? 0;
    if (count === 0) return undefined;
    const entries = count === 1 ? 'one entry' : `${count} entries`;
    return new CastError('ERR_RDMC_PARTIAL', `${this.name} lacks ${entries}`, { receiver: this.name });
  }

  /** Bytes of file contents in the first messages of its streams, and in bytes of the next message. */
  #bytesIn(messages: number, partialBytes: number): number {
    let left = messages;
    let bytes = 0;
    for (const pump of this.pumps) {
      const { messages: all = Number.POSITIVE_INFINITY } = pump;
      bytes += pump.bytesIn(left, left < all ? partialBytes : 0);
      if (left < all) break;
      left -= all;
    }
    return bytes;
  }

  async #introduce(invitation: Invitation): Promise<void> {
    const frames = this.channel[Symbol.asyncIterator]();
    this.send({ type: 'call', version: CAST_PROTOCOL_VERSION, software: SOFTWARE });
    this.hello = await this.#expect(frames, 'hello');
    this.send(invitation);
    const { meshPort, freeBytes, checked = false } = await this.#expect(frames, 'ready');
    this.checked = checked;
    this.freeBytes = freeBytes;
    const { contentBytes, comparison } = invitation;
    if (!comparison && freeBytes < contentBytes) throw noRoom(this, contentBytes);
    this.meshPort = meshPort;
    this.state = 'ready';
    void this.#follow(frames);
  }

  async #expect<T extends ReceiverFrame['type']>(
    frames: Frames,
    type: T,
  ): Promise<Extract<ReceiverFrame, { type: T }>> {
    const { value, done } = await frames.next();
    if (done)
      throw new CastError('ERR_RDMC_CAST_UNREACHABLE', `${this.name} closed the connection`, {
        receiver: this.name,
      });
    if (value.type === type) return value as Extract<ReceiverFrame, { type: T }>;
    if (value.type === 'refused' || value.type === 'failed') throw this.#reported(value);
    throw protocolError(`${this.name} sent '${value.type}' instead of '${type}'`);
  }

  async #follow(frames: Frames): Promise<void> {
    try {
      for (;;) {
        const { value: frame, done } = await frames.next();
        if (done) break;
        this.silentMs = 0;
        this.#take(frame);
      }
      this.fail(asLinkError(undefined, this.name, 'ERR_RDMC_RECEIVER_LOST'));
    } catch (error) {
      this.fail(asLinkError(error, this.name, 'ERR_RDMC_RECEIVER_LOST'));
    }
  }

  #take(frame: ReceiverFrame): void {
    if (frame.type === 'progress') {
      this.#checkProgress(frame);
      this.progress = frame;
      if (this.state === 'ready' && (frame.receivedMessages > 0 || frame.partialBytes > 0))
        this.state = 'receiving';
    } else if (frame.type === 'parted') {
      this.#checkReceived(frame.receivedMessages);
      if (this.#parted?.groupId === frame.groupId) this.#parted.resolve(frame.receivedMessages);
    } else if (frame.type === 'compared') this.#takeStates(frame.first, frame.states);
    else if (frame.type === 'held') this.blocks.held(frame);
    else if (frame.type === 'unbuilt') this.blocks.unbuilt(frame);
    else if (frame.type === 'surplus') this.#takeSurplus(frame);
    else if (frame.type === 'done' && this.state === 'storing') {
      this.done = frame;
      if (this.alive) this.state = 'complete';
      this.#settle();
    } else if (frame.type === 'failed') this.fail(this.#reported(frame));
    else throw protocolError(`${this.name} sent an unexpected '${frame.type}'`);
  }

  #takeStates(first: number, packed: string): void {
    const offer = this.#offers.shift();
    if (offer?.first !== first)
      throw protocolError(`${this.name} compared a piece of the manifest that it was not sent`);
    this.states.set(unpackStates(packed, offer.count), first);
    offer.answered();
  }

  #takeSurplus({ paths, last }: SurplusFrame): void {
    if (!this.#surplusReported || this.surplus.length + paths.length > MAX_SURPLUS)
      throw protocolError(`${this.name} reported surplus entries that it was not asked for`);
    for (const path of paths) this.surplus.push(path);
    if (!last) return;
    this.#surplusReported();
    this.#surplusReported = undefined;
  }

  #checkProgress({ receivedMessages, storedMessages }: ProgressFrame): void {
    this.#checkReceived(receivedMessages);
    if (storedMessages < this.progress.storedMessages || storedMessages > receivedMessages) {
      throw this.#inconsistent(`it has stored ${storedMessages} of ${receivedMessages} messages`);
    }
  }

  /** The sender does not read messages again that all receivers have reported, so a report must not shrink. */
  #checkReceived(receivedMessages: number): void {
    if (receivedMessages < this.progress.receivedMessages)
      throw this.#inconsistent(`it has ${receivedMessages} messages`);
    if (receivedMessages > this.madeMessages) {
      throw this.#inconsistent(`it has ${receivedMessages} messages, more than were sent`);
    }
  }

  #inconsistent(claim: string): CastError {
    const { receivedMessages, storedMessages } = this.progress;
    const before = `its report before: ${receivedMessages} received, ${storedMessages} stored`;
    const message = `${this.name} reports that ${claim}; ${before}; it was dropped, and the others continue`;
    return new CastError('ERR_RDMC_CAST_PROTOCOL', message, { receiver: this.name });
  }

  #reported({ code, message }: { readonly code: string; readonly message: string }): CastError {
    return new CastError(code, `${this.name}: ${message}`, { receiver: this.name });
  }

  #silent(timeoutMs: number): CastError {
    const message = `${this.name} did not answer within ${timeoutMs} ms`;
    return new CastError('ERR_RDMC_CAST_UNREACHABLE', message, { receiver: this.name });
  }
}

function asLinkError(error: unknown, name: string, fallback: CastErrorCode): CastError {
  if (error instanceof CastError) return error;
  const code = codeOf(error);
  const known = code?.startsWith('ERR_RDMC_') ? code : fallback;
  const message = code?.startsWith('ERR_RDMC_') ? messageOf(error) : `${name} was lost: ${reasonOf(error)}`;
  return new CastError(known, message, { cause: error, receiver: name });
}

export function noRoom({ name, freeBytes }: ReceiverLink, needed: number): CastError {
  const message = `${name} has ${freeBytes} bytes free, but ${needed} are needed; make room there`;
  return new CastError('ERR_RDMC_NO_SPACE', message, { receiver: name });
}
