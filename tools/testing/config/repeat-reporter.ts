import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Reporter, TestCase, TestModule, TestSuite } from 'vitest/node';
import { repeatCommand } from './repeat-command.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** Names from the outermost suite to the test. */
function namesOf(test: TestCase): string[] {
  const names = [test.name];
  for (let parent: TestSuite | TestModule = test.parent; parent.type === 'suite'; parent = parent.parent) {
    names.unshift(parent.name);
  }
  return names;
}

/** Prints, after everything else, the command that repeats each failure, with the seed of a property test. */
export class RepeatReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const commands = modules.flatMap((module) => this.#commandsOf(module));
    if (commands.length > 0) console.error(`\nTo repeat:\n${commands.join('\n')}\n`);
  }

  #commandsOf(module: TestModule): string[] {
    const folder = relative(root, module.project.config.root) || '.';
    const file = relative(module.project.config.root, module.moduleId);
    const failed = [...module.children.allTests('failed')];
    const commands = failed.map((test) => {
      const text = (test.result().errors ?? []).map(({ message }) => message).join('\n');
      return repeatCommand({ folder, file, names: namesOf(test), text });
    });
    if (commands.length === 0 && !module.ok())
      commands.push(repeatCommand({ folder, file, names: [], text: '' }));
    return commands;
  }
}
