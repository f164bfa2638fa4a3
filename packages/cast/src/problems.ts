import type { CastProblem } from './cast-summary.js';
import { MAX_PROBLEM_CHARACTERS, MAX_PROBLEMS_KEPT } from './constants.js';

/** Counts all problems, and keeps the first ones. */
export class ProblemList {
  readonly kept: CastProblem[] = [];
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(problem: CastProblem): void {
    this.#count += 1;
    if (this.kept.length >= MAX_PROBLEMS_KEPT) return;
    this.kept.push({ ...problem, message: problem.message.slice(0, MAX_PROBLEM_CHARACTERS) });
  }

  /** Adds another list, which counted `count` problems. */
  addAll(problems: readonly CastProblem[], count = problems.length): void {
    for (const problem of problems) this.add(problem);
    this.#count += count - problems.length;
  }

  /** The first problem, and the number of further ones. */
  describe(): string {
    const first = this.kept[0];
    if (first === undefined) return 'no problems';
    const more = this.#count > 1 ? ` (and ${this.#count - 1} more)` : '';
    return `${first.path}: ${first.message}${more}`;
  }
}
