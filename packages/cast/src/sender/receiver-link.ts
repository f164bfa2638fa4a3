import { Deadline } from '@rdmc/common';
import type { CastProgress, ReceiverProgress, ReceiverState } from '../cast-progress.js';
import type { Target } from '../checked-cast-options.js';
import { CAST_PROTOCOL_VERSION } from '../constants.js';
import { type ControlChannel, reasonOf } from '../control/control-channel.js';
import type {
  DoneFrame,
  HelloFrame,
  Invitation,
  ProgressFrame,
  ReceiverFrame,
  SenderFrame,
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
import { type Dialling, dial } from './dial.js';

type Channel = ControlChannel<SenderFrame, ReceiverFrame>;
type Frames = AsyncIterator<ReceiverFrame, void, undefined>;

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
  progress = NOTHING;
  done: DoneFrame | undefined;
  failure: CastError | undefined;
  /** Number of messages filled so far; the session sets it. */
  madeMessages: () => number = () => 0;
  /** How long it has sent nothing; updated by the stall watch. */
  silentMs = 0;
  /** Groups that failed because of it while this connection was open. */
  blames = 0;
  /** Resolves when it has failed. */
  readonly down: Promise<void>;
  #wentDown: () => void = () => {};
  #channel: Channel | undefined;
  #parted: { groupId: number; resolve: (receivedMessages: number) => void } | undefined;
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

  /**
   * Resolves with the number of complete messages that it has, when it has left the group; undefined where it fails
   * first.
   */
  async part(groupId: number): Promise<number | undefined> {
    const parted = new Promise<number>((resolve) => {
      this.#parted = { groupId, resolve };
    });
    this.send({ type: 'part', groupId });
    return Promise.race([parted, this.down.then(() => undefined)]);
  }

  /** Asks it to store everything; resolves when it has done so, or has failed. */
  finish(messages: number, files: number, bytes: number): Promise<void> {
    this.state = 'storing';
    this.send({ type: 'finish', messages, files, bytes });
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

  /**
   * @param contentBytes gives the bytes of file contents in `messages` messages and `partialBytes` bytes of the next
   *   one
   */
  snapshot(contentBytes: (messages: number, partialBytes: number) => number): ReceiverProgress {
    const { receivedMessages, partialBytes, storedMessages } = this.progress;
    const { failure } = this;
    const everything = this.done && contentBytes(Number.POSITIVE_INFINITY, 0);
    return {
      name: this.name,
      hostName: this.hello?.hostName,
      state: this.state,
      receivedBytes: everything ?? contentBytes(receivedMessages, partialBytes),
      storedBytes: everything ?? contentBytes(storedMessages, 0),
      ...(failure && { error: { code: failure.code, message: failure.message } }),
    } satisfies CastProgress['receivers'][number];
  }

  async #introduce(invitation: Invitation): Promise<void> {
    const frames = this.channel[Symbol.asyncIterator]();
    this.send({ type: 'call', version: CAST_PROTOCOL_VERSION, software: SOFTWARE });
    this.hello = await this.#expect(frames, 'hello');
    this.send(invitation);
    const { meshPort, freeBytes } = await this.#expect(frames, 'ready');
    const { contentBytes } = invitation;
    if (freeBytes < contentBytes) {
      const message = `${this.name} has ${freeBytes} bytes free, but ${contentBytes} are needed; make room there`;
      throw new CastError('ERR_RDMC_NO_SPACE', message, { receiver: this.name });
    }
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
    } else if (frame.type === 'done' && this.state === 'storing') {
      this.done = frame;
      if (this.alive) this.state = 'complete';
      this.#settle();
    } else if (frame.type === 'failed') this.fail(this.#reported(frame));
    else throw protocolError(`${this.name} sent an unexpected '${frame.type}'`);
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
    if (receivedMessages > this.madeMessages()) {
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
