import { relative } from 'node:path';
import type { Reporter, TestModule, Vitest } from 'vitest/node';

/** Before the name of a test that was left out; `npm test` shows these lines of suites that passed. */
const MARK = 'left out:';

/** Prints the name of each test that was left out: the name says why, and what enables it. */
export class LeftOutReporter implements Reporter {
  #isFiltered = false;

  onInit(vitest: Vitest): void {
    // With -t, everything else is left out, as asked.
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
