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

/** One receiver as the sender sees it: its control connection, and what it has said. */
export class ReceiverLink {
  /** In the mesh; given when the members are known. */
  id = 0;
  state: ReceiverState = 'connecting';
  hello: HelloFrame | undefined;
  meshPort = 0;
  progress = NOTHING;
  done: DoneFrame | undefined;
  failure: CastError | undefined;
  /** Messages that have been made; whoever sends them sets it. */
  madeMessages: () => number = () => 0;
  /** Kept by the stall watch. */
  silentMs = 0;
  /** Groups that failed because of it while this connection lived. */
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

  /** Dials, invites, and listens from then on. What fails is kept in `failure`. */
  async open(dialling: Dialling, invitation: Invitation): Promise<void> {
    try {
      this.#channel = await dial(this.target, dialling);
      // Whatever the other end does not say in time is not waited for.
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

  /** How many messages it has whole, when it has left the group; undefined where it fails before it says so. */
  async part(groupId: number): Promise<number | undefined> {
    const parted = new Promise<number>((resolve) => {
      this.#parted = { groupId, resolve };
    });
    this.send({ type: 'part', groupId });
    return Promise.race([parted, this.down.then(() => undefined)]);
  }

  /** Asks it to store everything; resolves when it has, or has failed. */
  finish(messages: number, files: number, bytes: number): Promise<void> {
    this.state = 'storing';
    this.send({ type: 'finish', messages, files, bytes });
    return this.#settled;
  }

  /** It is out. The first failure counts. */
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

  /** `contentBytes` tells the bytes of contents in so many messages and so many bytes of the next. */
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
      const message = `${this.name} has ${freeBytes} bytes free, and ${contentBytes} are needed; make room there`;
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
      throw new CastError('ERR_RDMC_CAST_UNREACHABLE', `${this.name} hung up`, { receiver: this.name });
    if (value.type === type) return value as Extract<ReceiverFrame, { type: T }>;
    if (value.type === 'refused' || value.type === 'failed') throw this.#theirs(value);
    throw protocolError(`${this.name} said '${value.type}' in place of '${type}'`);
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
    } else if (frame.type === 'failed') this.fail(this.#theirs(frame));
    else throw protocolError(`${this.name} said '${frame.type}' out of turn`);
  }

  #checkProgress({ receivedMessages, storedMessages }: ProgressFrame): void {
    this.#checkReceived(receivedMessages);
    if (storedMessages < this.progress.storedMessages || storedMessages > receivedMessages) {
      throw this.#lie(`it has stored ${storedMessages} of ${receivedMessages} messages`);
    }
  }

  /** What a receiver says that it has is not read again for others, so it must not have less later. */
  #checkReceived(receivedMessages: number): void {
    if (receivedMessages < this.progress.receivedMessages)
      throw this.#lie(`it has ${receivedMessages} messages`);
    if (receivedMessages > this.madeMessages()) {
      throw this.#lie(`it has ${receivedMessages} messages, more than were sent`);
    }
  }

  #lie(claim: string): CastError {
    const { receivedMessages, storedMessages } = this.progress;
    const before = `before, it had ${receivedMessages} and had stored ${storedMessages}`;
    const message = `${this.name} says that ${claim}; ${before}; it was dropped, and the others go on`;
    return new CastError('ERR_RDMC_CAST_PROTOCOL', message, { receiver: this.name });
  }

  #theirs({ code, message }: { readonly code: string; readonly message: string }): CastError {
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
  const message = code?.startsWith('ERR_RDMC_') ? messageOf(error) : `${name} is gone: ${reasonOf(error)}`;
  return new CastError(known, message, { cause: error, receiver: name });
}
