import { relative } from 'node:path';
import type { Reporter, TestModule, Vitest } from 'vitest/node';

/** Before the name of a skipped test; `npm test` also shows these lines of suites that passed. */
const MARK = 'left out:';

/** Prints the name of each skipped test: the name has the reason, and how to enable it. */
export class LeftOutReporter implements Reporter {
  #isFiltered = false;

  onInit(vitest: Vitest): void {
    // With -t, all other tests are skipped on purpose.
    this.#isFiltered = vitest.config.testNamePattern !== undefined;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    if (this.#isFiltered) return;
    for (const module of modules) {
      const file = relative(module.project.config.root, module.moduleId);
      for (const test of module.children.allTests('skipped')) {
        console.log(`${MARK} ${file}: ${test.fullName}`);
      }
    }
  }
}
