import type { Mutant } from './mutant.js';
import { type Outcome, outcomeOf } from './outcome.js';
import { Sources } from './place.js';
import type { Place } from './stale.js';
import { build, type Trial, test } from './trial.js';
import type { Workshop } from './workshop.js';

export interface Verdict extends Outcome {
  readonly mutant: Mutant;
}

/** Ends only what hangs: a busy machine took nine minutes to compile the addon. */
const BUILD_LIMIT_MS = 1_800_000;
const BASELINE_LIMIT_MS = 900_000;
const LEAST_LIMIT_MS = 60_000;
/** Factor by which a mutant may slow its tests before they time out. */
const LIMIT_FACTOR = 6;

/** The tests fail without any fault, or a fault does not compile: there is no result about the tests. */
export class Unusable extends Error {
  override readonly name = 'Unusable';
}

/** Tries mutants in one copy, one after the other. */
export class Judge {
  readonly #workshop: Workshop;
  readonly #sources: Sources;
  /** Seconds of the tests without a fault, by their names. */
  readonly #baseline = new Map<string, number>();

  constructor(workshop: Workshop) {
    this.#workshop = workshop;
    this.#sources = new Sources(workshop.root);
  }

  /** @throws StaleMutant, Unusable */
  async judge(mutant: Mutant): Promise<Verdict> {
    const place = this.#sources.place(mutant);
    const limitMs = Math.max(LEAST_LIMIT_MS, (await this.#secondsWithout(mutant)) * 1000 * LIMIT_FACTOR);
    const outcome = await outcomeOf(
      {
        mutated: (limit) => this.#withFault(mutant, place, limit),
        baseline: (limit) => this.#withoutFault(mutant, limit),
      },
      limitMs,
    );
    return { mutant, ...outcome };
  }

  async #withFault(mutant: Mutant, { file, mutated }: Place, limitMs: number): Promise<Trial> {
    const { root } = this.#workshop;
    this.#workshop.write(file, mutated);
    try {
      requireBuilt(mutant.id, await build(root, mutant, BUILD_LIMIT_MS));
      return await test(root, mutant.tests, limitMs);
    } finally {
      this.#workshop.restore(file, mutant);
    }
  }

  /** Tests of C++ also link the addon's objects, which a new copy lacks, and which may contain a fault later. */
  async #withoutFault(mutant: Mutant, limitMs: number): Promise<Trial> {
    const { root } = this.#workshop;
    if (mutant.language === 'C++') requireBuilt('the addon', await build(root, mutant, BUILD_LIMIT_MS));
    return test(root, mutant.tests, limitMs);
  }

  async #secondsWithout(mutant: Mutant): Promise<number> {
    const name = mutant.tests.join(' ');
    const known = this.#baseline.get(name);
    if (known !== undefined) return known;
    const { passed, seconds, output } = await this.#withoutFault(mutant, BASELINE_LIMIT_MS);
    if (!passed) throw new Unusable(`the tests of ${mutant.id} fail without any fault: ${name}\n${output}`);
    this.#baseline.set(name, seconds);
    return seconds;
  }
}

/** @throws Unusable: says whether the compiler refused it, or did not end */
export function requireBuilt(what: string, { passed, timedOut, seconds, output }: Trial): void {
  if (passed) return;
  const how = timedOut ? `was not compiled within ${Math.round(seconds)} s` : 'does not compile';
  throw new Unusable(`${what} ${how}:\n${output}`);
}
