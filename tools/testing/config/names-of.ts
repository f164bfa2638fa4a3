import type { TestCase, TestModule, TestSuite } from 'vitest/node';

/** Names from the outermost suite to the test. */
export function namesOf(test: TestCase): string[] {
  const names = [test.name];
  for (let parent: TestSuite | TestModule = test.parent; parent.type === 'suite'; parent = parent.parent) {
    names.unshift(parent.name);
  }
  return names;
}
