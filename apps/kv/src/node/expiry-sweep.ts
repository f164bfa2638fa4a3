import { EXPIRE_SWEEP_KEYS, EXPIRE_SWEEP_MS } from '../limits.js';
import type { Executor } from '../server/executor.js';

/** Removes expired keys that are not read, some at a time. */
export class ExpirySweep {
  readonly #timer: NodeJS.Timeout;
  #keys: Iterator<[string, number]> | undefined;

  constructor(private readonly executor: Executor) {
    this.#timer = setInterval(() => this.#sweep(), EXPIRE_SWEEP_MS);
    this.#timer.unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #sweep(): void {
    const { store, node } = this.executor;
    if (store.keyspace.expiring.size === 0) return;
    this.executor.schedule();
    const { latency } = node.monitor;
    const started = latency.isOn ? performance.now() : 0;
    this.#look();
    if (latency.isOn) latency.add('expire-cycle', performance.now() - started);
  }

  #look(): void {
    const { store, node } = this.executor;
    this.#keys ??= store.keyspace.expiring.entries();
    for (let i = 0; i < EXPIRE_SWEEP_KEYS; i += 1) {
      const next = this.#keys.next();
      if (next.done) {
        this.#keys = undefined;
        return;
      }
      const [key, slot] = next.value;
      if (node.isOwn(slot)) store.find(slot, key, Date.now());
    }
  }
}
