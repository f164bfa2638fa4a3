import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Reporter, TestModule } from 'vitest/node';
import { namesOf } from './names-of.js';
import { repeatCommand } from './repeat-command.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));

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
