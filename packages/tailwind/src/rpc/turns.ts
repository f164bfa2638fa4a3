import { SerialQueue } from '@rdmc/common';

/** Runs actions of one key one after the other, in the order of the calls. */
export class Turns {
  readonly #queues = new Map<string, SerialQueue>();

  run<T>(key: string, action: () => Promise<T> | T): Promise<T> {
    const queue = this.#queues.get(key) ?? new SerialQueue();
    this.#queues.set(key, queue);
    const done = queue.run(action);
    void queue.idle().then(() => {
      if (queue.length === 0 && this.#queues.get(key) === queue) this.#queues.delete(key);
    });
    return done;
  }
}
