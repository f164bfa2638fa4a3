import type { SinkEntry } from '../entry-sink.js';
import type { CastError } from '../errors.js';
import type { CheckedReceiveOptions } from '../receive-options.js';
import { MemoryFeeder } from './memory-feeder.js';
import { SinkFeeder } from './sink-feeder.js';

/** What the application takes the files of a cast with, in the place of a directory: sinks or memory, or neither. */
export class Takers {
  readonly #sinks: SinkFeeder | undefined;
  readonly #memory: MemoryFeeder | undefined;

  constructor(
    { sink, memory }: Pick<CheckedReceiveOptions, 'sink' | 'memory'>,
    { castId, from }: Pick<SinkEntry, 'castId' | 'from'>,
    onFailure: (error: CastError) => void,
  ) {
    this.#sinks = sink && new SinkFeeder(sink, { castId, from }, onFailure);
    this.#memory = memory && new MemoryFeeder(memory, { castId, from });
  }

  /** For the writer's thread. */
  get ports() {
    return { sinks: this.#sinks?.workerPort, memory: this.#memory?.workerPort };
  }

  /** The cast is over: the application learns of the files that are not whole. */
  close(reason: CastError | undefined): void {
    this.#sinks?.close(reason);
    this.#memory?.close(reason);
  }

  /** The writer's thread has ended. */
  release(): void {
    this.#memory?.release();
  }
}
