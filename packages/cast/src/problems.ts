import type { CastProblem } from './cast-summary.js';
import { MAX_PROBLEM_CHARACTERS, MAX_PROBLEMS_KEPT } from './constants.js';

/** Problems, all counted, the first ones kept. */
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

  /** Takes over another list, which counted `count`. */
  addAll(problems: readonly CastProblem[], count = problems.length): void {
    for (const problem of problems) this.add(problem);
    this.#count += count - problems.length;
  }

  /** The first one, and how many there are besides. */
  describe(): string {
    const first = this.kept[0];
    if (first === undefined) return 'no problems';
    const more = this.#count > 1 ? ` (and ${this.#count - 1} more)` : '';
    return `${first.path}: ${first.message}${more}`;
  }
}
