import { Deadline, Deferred } from '@rdmc/common';
import { GroupError } from './errors.js';
import type { GroupCore } from './group-core.js';

/** Limits of a wait for the end. */
export interface EndLimits {
  readonly signal: AbortSignal | undefined;
  readonly timeoutMs: number | undefined;
}

/** The end of a group at this member, successful or not: stops it, frees everything, and settles all calls. */
export class GroupEnd {
  readonly #end = new Deferred<void>();

  constructor(private readonly core: GroupCore) {}

  /** Resolves or rejects when the group has ended, and its memory is not in use any more. */
  get promise(): Promise<void> {
    return this.#end.promise;
  }

  /** The same, with a limit; `late` is called where it ends the wait. */
  async wait({ signal, timeoutMs }: EndLimits, late: (why: string) => void): Promise<void> {
    if (this.core.state === 'ended') return this.#end.promise;
    const deadline = new Deadline({ timeoutMs, signal }, () => {
      late(signal?.aborted ? 'the signal was aborted' : `it took more than ${timeoutMs} ms`);
    });
    return this.#end.promise.finally(() => deadline.clear());
  }

  /**
   * Stops the group, waits until no device uses its memory, and only then rejects or resolves.
   * @param reason called when nothing is delivered any more
   */
  async finish(reason: () => Promise<GroupError | undefined>): Promise<void> {
    const { core } = this;
    const { environment, options, slot, sender, reception, formation } = core;
    core.state = 'ending';
    // The ring is freed before the messages that wait are rejected.
    sender.queue.stop();
    let failure: unknown;
    try {
      await environment.link.abort(slot.number);
      await reception.finish();
      await formation.free();
    } catch (cause) {
      failure = cause;
    }
    failure = (await reason().catch((cause: unknown) => cause)) ?? failure;
    core.state = 'ended';
    core.release();
    reception.dispose(failure);
    const poolClosed = sender.end(failure);
    reception.inbox.end(failure);
    if (failure === undefined) this.#end.resolve();
    else this.#end.reject(failure);
    core.lifetime.end(failure ?? new GroupError('ERR_RDMC_GROUP_CLOSED', `Group ${options.id} is closed`));
    await poolClosed;
    core.lifetime.free();
  }
}
