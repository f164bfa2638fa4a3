import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { SerialQueue, within } from '@rdmc/common';
import type { EntrySink } from '../entry-sink.js';
import { CastError, invalidOption } from '../errors.js';
import { shown } from '../stream/paths.js';
import type { SinkAnswer, SinkOrder } from '../writer/sink-orders.js';
import { type CastFacts, sinkEntryOf } from './sink-entry.js';
import { sinkFailure } from './sink-failure.js';

type BeginOrder = Extract<SinkOrder, { type: 'begin' }>;

interface OpenSink {
  readonly name: string;
  readonly stream: Writable;
}

/** The application's end of the port to the sinks of one cast: makes them, and writes to one after the other. */
export class SinkFeeder {
  /** For the writer's thread. */
  readonly workerPort: MessagePort;
  readonly #port: MessagePort;
  readonly #turn = new SerialQueue();
  readonly #over = new AbortController();
  #open: OpenSink | undefined;
  #failure: CastError | undefined;

  constructor(
    private readonly sink: EntrySink,
    private readonly facts: CastFacts,
    /** Called when a sink fails, also between two writes. */
    private readonly onFailure: (error: CastError) => void,
  ) {
    const { port1, port2 } = new MessageChannel();
    this.workerPort = port2;
    this.#port = port1;
    port1.on('message', (order: SinkOrder) => void this.#turn.run(() => this.#answer(order)));
  }

  /** The cast is over: a sink that has not got its whole file is destroyed with an error. Idempotent. */
  close(reason: CastError | undefined): void {
    if (this.#over.signal.aborted) return;
    const error = reason ?? new CastError('ERR_RDMC_ABORTED', 'the cast ended before the file was whole');
    this.#over.abort(error);
    this.#open?.stream.destroy(error);
    this.#port.close();
  }

  async #answer(order: SinkOrder): Promise<void> {
    this.#port.postMessage(await this.#result(order));
  }

  async #result(order: SinkOrder): Promise<SinkAnswer> {
    try {
      await within(this.#do(order), { signal: this.#over.signal });
      return {};
    } catch (cause) {
      const { code, message } = this.#failed(this.#open?.name ?? 'a file', cause);
      return { error: { code, message } };
    }
  }

  async #do(order: SinkOrder): Promise<void> {
    if (this.#failure) throw this.#failure;
    if (order.type === 'begin') return this.#begin(order);
    const { stream } = this.#open!;
    if (order.type === 'data') return written(stream, order.bytes);
    if (order.type === 'end') {
      stream.end();
      await finished(stream, { readable: false });
    } else stream.destroy(new CastError(order.code, order.message));
    this.#open = undefined;
  }

  async #begin(order: BeginOrder): Promise<void> {
    const name = shown(order.path);
    const stream = await this.sink(sinkEntryOf(this.facts, order));
    if (typeof (stream as Partial<Writable> | undefined)?.write !== 'function')
      throw invalidOption(`sink: needed a Writable for ${name}`);
    this.#open = { name, stream };
    // Also for errors between two writes, which would end the process.
    stream.on('error', (error) => {
      if (this.#open?.stream === stream && !this.#over.signal.aborted)
        this.onFailure(this.#failed(name, error));
    });
    if (this.#over.signal.aborted) stream.destroy(this.#over.signal.reason as Error);
  }

  /** Only the first failure counts. */
  #failed(name: string, cause: unknown): CastError {
    if (this.#failure) return this.#failure;
    this.#failure = sinkFailure('sink', name, cause);
    this.#open?.stream.destroy(this.#failure);
    return this.#failure;
  }
}

/** Resolves when the stream takes more. */
function written(stream: Writable, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (act: () => void): void => {
      stream.off('drain', onDrain).off('error', onError).off('close', onClose);
      act();
    };
    const onDrain = (): void => settle(resolve);
    const onError = (error: Error): void => settle(() => reject(error));
    const onClose = (): void => settle(() => reject(new Error('it was closed before the end of the file')));
    if (stream.destroyed || stream.writableEnded) {
      reject(stream.errored ?? new Error('it was closed before the end of the file'));
      return;
    }
    stream.on('drain', onDrain).on('error', onError).on('close', onClose);
    if (stream.write(bytes)) settle(resolve);
  });
}
