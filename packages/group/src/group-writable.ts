import { Writable } from 'node:stream';
import { messageOf, onAbort } from '@rdmc/common';
import { DEFAULT_STREAM_MESSAGE_BYTES, MAX_SEND_BUFFER_BYTES } from './constants.js';
import { GroupError } from './errors.js';
import type { GroupSession } from './group-session.js';
import { integerOption, onlyKnownOptions } from './options.js';

/** The options of `group.writable()`. */
export interface WritableOptions {
  /**
   * The most bytes of a message: 1 to `sendBufferBytes` of the group, default 1 MiB or `sendBufferBytes` if that is less.
   * Longer chunks are cut; chunks that wait while the group is busy are combined up to this size.
   */
  readonly messageByteLength?: number;
}

type Callback = (error?: Error | null) => void;

/** The stream of `group.writable()`. */
export class GroupWritable extends Writable {
  readonly #session: GroupSession;
  readonly #close: () => Promise<void>;
  readonly #messageBytes: number;
  #forget: () => void = () => {};

  /** @param close closes the group */
  constructor(session: GroupSession, close: () => Promise<void>, options: WritableOptions) {
    const messageBytes = checkOptions(options, session.options.sendBufferBytes);
    super({ highWaterMark: messageBytes, decodeStrings: true });
    this.#session = session;
    this.#close = close;
    this.#messageBytes = messageBytes;
    // After the end, `_final` reports a failure.
    this.#forget = onAbort(session.lifetime.signal, () => {
      if (!this.writableEnded) this.destroy(session.lifetime.signal.reason as Error);
    });
  }

  /** The error for a second stream. */
  static taken(group: number): GroupError {
    return new GroupError(
      'ERR_RDMC_STREAM_TAKEN',
      `Group ${group} has a writable stream that is still open; two streams would mix their bytes. Write into that one, ` +
        'or end it first',
    );
  }

  override _write(chunk: Uint8Array, _encoding: BufferEncoding, callback: Callback): void {
    this.#send([chunk]).then(() => callback(), callback);
  }

  override _writev(chunks: readonly { readonly chunk: Uint8Array }[], callback: Callback): void {
    this.#send(chunks.map(({ chunk }) => chunk)).then(() => callback(), callback);
  }

  override _final(callback: Callback): void {
    this.#close().then(() => callback(), callback);
  }

  override _destroy(error: Error | null, callback: Callback): void {
    this.#forget();
    if (!this.writableFinished) {
      const because = error ? `: ${messageOf(error)}` : '';
      this.#session.abandon(`its writable stream was destroyed before the end${because}`, error ?? undefined);
    }
    callback(error);
  }

  /** Resolves when everything was copied. */
  async #send(chunks: readonly Uint8Array[]): Promise<void> {
    for (const parts of messagesOf(chunks, this.#messageBytes)) {
      const { copied } = await this.#session.queueBytes(parts);
      await copied;
    }
  }
}

/** Combines and cuts chunks to messages of at most `most` bytes; yields the parts of each. Nothing is copied. */
export function* messagesOf(chunks: Iterable<Uint8Array>, most: number): Generator<readonly Uint8Array[]> {
  let parts: Uint8Array[] = [];
  let room = most;
  for (const chunk of chunks) {
    let at = 0;
    while (at < chunk.byteLength) {
      const part = chunk.subarray(at, at + room);
      parts.push(part);
      at += part.byteLength;
      room -= part.byteLength;
      if (room > 0) continue;
      yield parts;
      parts = [];
      room = most;
    }
  }
  if (parts.length > 0) yield parts;
}

function checkOptions(options: WritableOptions, sendBufferBytes: number): number {
  onlyKnownOptions('writable', options, ['messageByteLength']);
  const { messageByteLength = Math.min(DEFAULT_STREAM_MESSAGE_BYTES, sendBufferBytes) } = options;
  const most = Math.min(sendBufferBytes, MAX_SEND_BUFFER_BYTES);
  return integerOption('writable', 'messageByteLength', messageByteLength, 1, most);
}
