import { Buffer } from 'node:buffer';
import { Readable } from 'node:stream';
import { messageOf } from '@rdmc/common';
import { READABLE_CHUNK_BYTES } from './constants.js';
import type { GroupSession } from './group-session.js';
import type { ReceivedMessage } from './received-message.js';

/** The stream of `group.readable()`. */
export class GroupReadable extends Readable {
  readonly #messages: AsyncIterator<ReceivedMessage, undefined>;
  readonly #session: Pick<GroupSession, 'abandon'>;
  /** The message that is being copied, and the bytes of it that were copied. */
  #message: ReceivedMessage | undefined;
  #position = 0;
  #isOver = false;

  constructor(messages: AsyncIterator<ReceivedMessage, undefined>, session: Pick<GroupSession, 'abandon'>) {
    super({ highWaterMark: READABLE_CHUNK_BYTES });
    this.#messages = messages;
    this.#session = session;
  }

  override _read(): void {
    this.#next().then(
      (chunk) => {
        if (chunk !== undefined && !this.destroyed) this.push(chunk);
      },
      (error: Error) => this.destroy(error),
    );
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    if (!this.#isOver) {
      const because = error ? `: ${messageOf(error)}` : '';
      this.#session.abandon(`its readable stream was destroyed before the end${because}`, error ?? undefined);
      void this.#releaseUnread();
    }
    this.#release();
    callback(error);
  }

  /** The next chunk; null at the end, undefined if the stream was destroyed meanwhile. */
  async #next(): Promise<Buffer | null | undefined> {
    for (;;) {
      const message = this.#message;
      if (!message) {
        const { done, value } = await this.#nextMessage();
        if (done) {
          this.#isOver = true;
          return null;
        }
        this.#message = value;
        this.#position = 0;
        if (this.destroyed) this.#release();
        if (this.destroyed) return undefined;
      } else {
        const byteLength = Math.min(READABLE_CHUNK_BYTES, message.byteLength - this.#position);
        const chunk = this.#copy(message, byteLength);
        this.#position += byteLength;
        if (this.#position === message.byteLength) this.#release();
        if (byteLength > 0) return chunk;
      }
    }
  }

  async #nextMessage(): Promise<IteratorResult<ReceivedMessage, undefined>> {
    try {
      return await this.#messages.next();
    } catch (error) {
      this.#isOver = true;
      throw error;
    }
  }

  #copy({ region, offset }: ReceivedMessage, byteLength: number): Buffer {
    return Buffer.from(region.view(offset + this.#position, byteLength));
  }

  #release(): void {
    this.#message?.release();
    this.#message = undefined;
  }

  /** Returns the memory of messages that nobody will read. The group has failed, or this member has everything. */
  async #releaseUnread(): Promise<void> {
    try {
      for (;;) {
        const { done, value } = await this.#messages.next();
        if (done) return;
        value.release();
      }
    } catch {
      // The error of the group, which its other calls report.
    }
  }
}
