// Given to vitest in a copy: writes the text of every failure into the file that RDMC_MUTANTS_FAILURES names. Vitest's own
// report does not mark tests that timed out.
import { writeFileSync } from 'node:fs';
import type { Reporter, TestModule } from 'vitest/node';

interface Said {
  readonly message: string;
}

export default class FailureReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly Said[]): void {
    const file = process.env.RDMC_MUTANTS_FAILURES;
    if (file === undefined) throw new Error('RDMC_MUTANTS_FAILURES names no file');
    const failures: Said[] = [...modules.flatMap((module) => [...failuresOf(module)]), ...unhandled];
    writeFileSync(file, JSON.stringify(failures.map(({ message }) => message)));
  }
}

function* failuresOf(module: TestModule): Generator<Said> {
  yield* module.errors();
  for (const suite of module.children.allSuites()) yield* suite.errors();
  for (const test of module.children.allTests('failed')) yield* test.result().errors ?? [];
}
