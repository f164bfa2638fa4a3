import { Deadline } from '@rdmc/common';
import type { CastProgress, ReceiverProgress, ReceiverState } from '../cast-progress.js';
import type { Target } from '../checked-cast-options.js';
import { CAST_PROTOCOL_VERSION } from '../constants.js';
import type { ControlChannel } from '../control/control-channel.js';
import type {
  DoneFrame,
  FinishFrame,
  HelloFrame,
  Invitation,
  ReceiverFrame,
  SenderFrame,
} from '../control/frames.js';
import { AbortError, CastError, protocolError } from '../errors.js';
import { SOFTWARE } from '../identity.js';
import { unpackStates } from '../manifest/packed-states.js';
import { BlockAnswers } from './block-answers.js';
import { type Dialling, dial } from './dial.js';
import { expectFrame, reportedError } from './expect-frame.js';
import { asLinkError, ENDED_BY_SENDER, endedBySender, noRoom, silentReceiver } from './link-errors.js';
import type { Pump } from './pump.js';
import { ReportedProgress } from './reported-progress.js';
import { bytesIn, madeMessages, messagesBeforeLast } from './stream-counts.js';
import { SurplusAnswer } from './surplus-answer.js';

type Channel = ControlChannel<SenderFrame, ReceiverFrame>;
type Frames = AsyncIterator<ReceiverFrame, void, undefined>;
/** How long a receiver may take for an answer, and the signal of the cast. */
type AnswerLimits = Pick<Dialling, 'timeoutMs' | 'signal'>;

/** Totals of the cast that a receiver tells its application. */
type Announced = Pick<Invitation, 'files' | 'directories' | 'links' | 'bytes'>;

/** One receiver at the sender: its control connection, and the state that it has reported. */
export class ReceiverLink {
  /** Its member id; assigned when the members are known. */
  id = 0;
  state: ReceiverState = 'connecting';
  hello: HelloFrame | undefined;
  meshPort = 0;
  /** Whether it checks each message by itself. */
  checked = false;
  /** Whether it takes ranges of files. */
  takesRanges = false;
  freeBytes = 0;
  /** A state for each entry, where entries are compared. */
  states: Uint8Array = new Uint8Array(0);
  /** What it says about its older files. */
  readonly blocks = new BlockAnswers();
  /** What it has beside the entries of the cast. */
  readonly surplus = new SurplusAnswer();
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
  #frames: Frames | undefined;
  #parted: { groupId: number; resolve: (receivedMessages: number) => void } | undefined;
  /** Pieces of the manifest that it has not answered. */
  readonly #offers: { first: number; count: number; answered: () => void }[] = [];
  readonly #progress: ReportedProgress;
  #settle: () => void = () => {};
  readonly #settled: Promise<void>;

  constructor(readonly target: Target) {
    this.#progress = new ReportedProgress(target.name);
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

  /** The ways to compress that it can undo. */
  get codecs(): readonly string[] {
    return this.hello?.codecs ?? [];
  }

  /** Its latest report. */
  get progress(): ReportedProgress['latest'] {
    return this.#progress.latest;
  }

  get alive(): boolean {
    return this.failure === undefined;
  }

  get channel(): Channel {
    return this.#channel!;
  }

  /** Dials, and greets the receiver. An error is kept in `failure`. */
  async open(dialling: Dialling): Promise<void> {
    try {
      this.#channel = await dial(this.target, dialling);
      await this.#within(dialling, () => this.#greet());
    } catch (error) {
      this.fail(asLinkError(error, this.name, 'ERR_RDMC_CAST_UNREACHABLE'));
    }
  }

  /** In place of the connection that `open` made, on which nothing was asked yet. An error is kept in `failure`. */
  async openAgain(dialling: Dialling): Promise<void> {
    if (!this.alive) return;
    const message = 'the sender calls again';
    void this.channel.end({ type: 'abort', code: 'ERR_RDMC_ABORTED', message, again: true });
    await this.open(dialling);
  }

  /** After `open`: invites the receiver, and then reads its frames. An error is kept in `failure`. */
  async invite(invitation: Invitation, limits: AnswerLimits): Promise<void> {
    if (!this.alive) return;
    try {
      await this.#within(limits, () => this.#introduce(invitation));
    } catch (error) {
      this.fail(asLinkError(error, this.name, 'ERR_RDMC_CAST_UNREACHABLE'));
    }
  }

  send(frame: SenderFrame): void {
    this.#channel?.send(frame);
  }

  /** Number of messages of all its streams that are filled so far. */
  get madeMessages(): number {
    return madeMessages(this.pumps);
  }

  /** Complete messages of its last stream. */
  get receivedOfStream(): number {
    return Math.max(0, this.progress.receivedMessages - messagesBeforeLast(this.pumps));
  }

  /** Sends a piece of the manifest; resolves when it has answered, or has failed. */
  compare(offer: Buffer, first: number, count: number): Promise<void> {
    if (first + count > this.states.length) this.#growStates(first + count);
    const answer = new Promise<void>((answered) => this.#offers.push({ first, count, answered }));
    this.#channel?.sendEncoded(offer);
    return Promise.race([answer, this.down]);
  }

  /** Sends a question about a file; resolves when its answer has come, or this receiver has failed. */
  ask(question: Buffer, answered: Promise<void>): Promise<void> {
    this.#channel?.sendEncoded(question);
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
    const reported = this.surplus.expect();
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
      const before = messagesBeforeLast(this.pumps);
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
    const message = abort instanceof AbortError ? ENDED_BY_SENDER : abort?.message;
    await this.#channel?.end(abort && { type: 'abort', code: abort.code, message: message! });
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
      receivedBytes: everything ?? bytesIn(this.pumps, receivedMessages, partialBytes),
      storedBytes: everything ?? bytesIn(this.pumps, storedMessages, 0),
      resumedBytes: this.done?.resumedBytes ?? this.surplus.resumedBytes,
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

  /** Disconnects a receiver that does not answer in time, or before the sender has ended the cast. */
  async #within(limits: AnswerLimits, asking: () => Promise<void>): Promise<void> {
    const { name } = this;
    const end = (): void => {
      const { aborted, reason } = limits.signal;
      this.channel.destroy(aborted ? endedBySender(name, reason) : silentReceiver(name, limits.timeoutMs));
    };
    const deadline = new Deadline(limits, end);
    try {
      await asking();
    } finally {
      deadline.clear();
    }
  }

  async #greet(): Promise<void> {
    this.#frames = this.channel[Symbol.asyncIterator]();
    this.send({ type: 'call', version: CAST_PROTOCOL_VERSION, software: SOFTWARE });
    this.hello = await expectFrame(this.#frames, 'hello', this.name);
  }

  async #introduce(invitation: Invitation): Promise<void> {
    const frames = this.#frames!;
    this.send(invitation);
    const ready = await expectFrame(frames, 'ready', this.name);
    const { meshPort, freeBytes, checked = false, ranges = false } = ready;
    this.checked = checked;
    this.takesRanges = ranges;
    this.freeBytes = freeBytes;
    const { contentBytes, comparison } = invitation;
    if (!comparison && freeBytes < contentBytes) throw noRoom(this.name, freeBytes, contentBytes);
    this.meshPort = meshPort;
    this.state = 'ready';
    void this.#follow(frames);
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
      this.#progress.take(frame, this.madeMessages);
      if (this.state === 'ready' && (frame.receivedMessages > 0 || frame.partialBytes > 0))
        this.state = 'receiving';
    } else if (frame.type === 'parted') {
      this.#progress.checkReceived(frame.receivedMessages, this.madeMessages);
      if (this.#parted?.groupId === frame.groupId) this.#parted.resolve(frame.receivedMessages);
    } else if (frame.type === 'compared') this.#takeStates(frame.first, frame.states);
    else if (frame.type === 'held') this.blocks.held(frame);
    else if (frame.type === 'wanted') this.blocks.wanted(frame);
    else if (frame.type === 'unbuilt') this.blocks.unbuilt(frame);
    else if (frame.type === 'surplus') this.surplus.take(this.name, frame);
    else if (frame.type === 'done' && this.state === 'storing') {
      this.done = frame;
      if (this.alive) this.state = 'complete';
      this.#settle();
    } else if (frame.type === 'failed') this.fail(reportedError(this.name, frame));
    else throw protocolError(`${this.name} sent an unexpected '${frame.type}'`);
  }

  #takeStates(first: number, packed: string): void {
    const offer = this.#offers.shift();
    if (offer?.first !== first)
      throw protocolError(`${this.name} compared a piece of the manifest that it was not sent`);
    this.states.set(unpackStates(packed, offer.count), first);
    offer.answered();
  }
}
