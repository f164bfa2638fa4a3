import { messageOf } from '../errors.js';
import type { Tell } from './tell.js';

/** The signals of a planned end, of ctrl-C, and of a power supply that is nearly empty. */
const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGPWR'] as const;
const EXIT_FAILED = 1;

/** Ends this process when it gets a signal, with 0, or when it ends itself, with another code. */
export class PlannedEnd {
  readonly #work: (() => Promise<unknown>)[] = [];
  #isBegun = false;
  #exitCode = 0;

  /** @param name of the member, for its lines */
  constructor(
    private readonly name: string,
    private readonly tell: Tell,
  ) {
    for (const signal of SIGNALS) process.on(signal, () => this.begin(0));
  }

  /** Adds work before the end: the process ends when all of it has resolved. */
  beforeExit(work: () => Promise<unknown>): void {
    this.#work.push(work);
  }

  /** After the begin, only 0 replaces the exit code: a signal means that the end was planned. */
  begin(exitCode: number): void {
    if (this.#isBegun) {
      if (exitCode === 0) this.#exitCode = 0;
      return;
    }
    this.#isBegun = true;
    this.#exitCode = exitCode;
    Promise.all(this.#work.map((work) => work())).then(
      () => process.exit(this.#exitCode),
      (error: unknown) => {
        this.tell(`${this.name}: its end failed: ${messageOf(error)}`, { failedEnd: messageOf(error) });
        process.exit(EXIT_FAILED);
      },
    );
  }
}
