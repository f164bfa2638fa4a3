import { Deferred } from '@rdmc/common';
import type { OutlineFrame } from '../control/frames.js';
import { protocolError } from '../errors.js';

/** Most hashes that wait for their messages. */
const MOST_AHEAD = 4096;

/**
 * Hashes of outlines, by run and message. A hash comes over the control connection and its message through the group, so
 * either may be first.
 */
export class Outlines {
  readonly #runs = new Map<number, Map<number, Deferred<string>>>();
  #current = 0;

  /** A hash has arrived. @throws CastError ERR_RDMC_CAST_PROTOCOL where too many wait */
  arrived({ groupId, message, sha256 }: OutlineFrame): void {
    if (groupId < this.#current) return;
    let waiting = 0;
    for (const { size } of this.#runs.values()) waiting += size;
    if (waiting >= MOST_AHEAD) throw protocolError('the sender sends hashes too far ahead of the messages');
    this.#of(groupId, message).resolve(sha256);
  }

  /** A run begins: forgets what earlier runs left. */
  enterRun(run: number): void {
    this.#current = run;
    for (const old of this.#runs.keys()) if (old < run) this.#runs.delete(old);
  }

  /** Resolves when the hash of the message is here; it is then forgotten. */
  async take(run: number, message: number): Promise<string> {
    const hash = await this.#of(run, message).promise;
    this.#runs.get(run)?.delete(message);
    return hash;
  }

  #of(run: number, message: number): Deferred<string> {
    const hashes = this.#runs.get(run) ?? new Map<number, Deferred<string>>();
    this.#runs.set(run, hashes);
    const hash = hashes.get(message) ?? new Deferred<string>();
    hashes.set(message, hash);
    return hash;
  }
}
