import { relative } from 'node:path';
import type { Reporter, TestModule, Vitest } from 'vitest/node';
import { leftOutLines } from './left-out.js';
import { namesOf } from './names-of.js';

/** Before a line about skipped tests; `npm test` also shows these lines of suites that passed. */
const MARK = 'left out:';

/**
 * Prints which tests were skipped: their names have the reason, and how to enable them. Many with one reason are one line;
 * RDMC_TEST_LEFT_OUT=1 prints every name.
 */
export class LeftOutReporter implements Reporter {
  #isFiltered = false;

  onInit(vitest: Vitest): void {
    // With -t, all other tests are skipped on purpose.
    this.#isFiltered = vitest.config.testNamePattern !== undefined;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    if (this.#isFiltered) return;
    const tests = modules.flatMap((module) => {
      const file = relative(module.project.config.root, module.moduleId);
      return [...module.children.allTests('skipped')].map((test) => ({ file, names: namesOf(test) }));
    });
    const lines = leftOutLines(tests, process.env.RDMC_TEST_LEFT_OUT === '1');
    for (const line of lines) console.log(`${MARK} ${line}`);
  }
}
