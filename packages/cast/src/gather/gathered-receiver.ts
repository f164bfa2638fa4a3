import { partial } from '../cast-conclusion.js';
import type { ReceiverProgress, ReceiverState } from '../cast-progress.js';
import type { CastProblem, ReceiverSummary } from '../cast-summary.js';
import type { Target } from '../checked-cast-options.js';
import { CastError } from '../errors.js';
import { ProblemList } from '../problems.js';
import type { FetcherLink } from '../pull/fetcher-link.js';

/** One receiver of a gathering cast, at the sender. */
export class GatheredReceiver {
  /** Its latest connection; undefined until it has answered. */
  link: FetcherLink | undefined;
  /** How often it has begun. */
  attempts = 0;
  /** Why the latest call failed. */
  callError: CastError | undefined;
  /** It is neither called nor served any more. */
  isOver = false;

  constructor(readonly target: Target) {}

  get name(): string {
    return this.target.name;
  }

  /** Whether it has answered, and is connected. */
  get isHere(): boolean {
    return this.link?.alive === true && !this.isOver;
  }

  /** @param totalBytes of the cast; 0 until they are known */
  snapshot(totalBytes: number): ReceiverProgress {
    const { link, name } = this;
    const error = this.#error();
    const lacking = link?.done ? 0 : (link?.lackingBytes ?? totalBytes);
    const storedBytes = Math.min(totalBytes, totalBytes - lacking + (link?.progress.storedBytes ?? 0));
    const receivedBytes = Math.min(totalBytes, storedBytes + (link?.progress.partialBytes ?? 0));
    const resumedBytes = link?.done?.resumedBytes ?? 0;
    return {
      ...{ name, state: this.#state(error !== undefined), receivedBytes, storedBytes, resumedBytes },
      ...(link && { hostName: link.ask.hostName }),
      ...(error && { error: { code: error.code, message: error.message } }),
    };
  }

  summary(): ReceiverSummary {
    const { host, port } = this.target;
    const done = this.link?.done;
    const error = this.#error() ?? (this.isOver ? undefined : this.#unanswered());
    return {
      ...{ host, port, attempts: this.attempts, state: error ? 'failed' : 'complete' },
      ...{ files: done?.files ?? 0, bytes: done?.bytes ?? 0, keptBytes: done?.keptBytes ?? 0 },
      resumedBytes: done?.resumedBytes ?? 0,
      unchangedFiles: done?.unchangedFiles ?? 0,
      unchangedBytes: done?.unchangedBytes ?? 0,
      removed: 0,
      ...(error && { code: error.code, message: error.message }),
    };
  }

  /** Entries that it lacks, and the number of all of them. */
  get problems(): { readonly kept: readonly CastProblem[]; readonly count: number } {
    const { problems = [], problemCount = 0 } = this.link?.done ?? {};
    return { kept: problems.map((each) => ({ ...each, receiver: this.name })), count: problemCount };
  }

  #state(isFailed: boolean): ReceiverState {
    const { link } = this;
    if (isFailed) return 'failed';
    if (link === undefined || !link.alive) return 'connecting';
    if (link.done) return 'complete';
    if (link.isFinishing) return 'storing';
    const { storedBytes, partialBytes } = link.progress;
    return storedBytes + partialBytes > 0 ? 'receiving' : 'ready';
  }

  /** Undefined where it is complete, or may still become complete. */
  #error(): CastError | undefined {
    const done = this.link?.done;
    if (done && done.problemCount > 0) {
      const list = new ProblemList();
      list.addAll(done.problems, done.problemCount);
      return partial(list);
    }
    if (done || !this.isOver) return undefined;
    return this.link?.failure ?? this.callError ?? this.#unanswered();
  }

  #unanswered(): CastError {
    const message = `${this.name} was not cast to: the cast ended before it`;
    return new CastError('ERR_RDMC_CAST_UNREACHABLE', message, { receiver: this.name });
  }
}
