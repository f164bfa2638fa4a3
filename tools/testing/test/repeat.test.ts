import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { repeatCommand } from '../config/repeat-command.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const folder = 'tools/testing/test/failing';
/** What `npx vitest` is in a package. The folder of the failing tests does not have a package.json: npx would run in another folder. */
const vitest = `"${process.execPath}" "${join(root, 'node_modules/vitest/vitest.mjs')}" --root .`;

/** Everything that a command in the root of the repository prints. */
function output(command: string): Promise<string> {
  return new Promise((done) => {
    const env = { ...process.env, NO_COLOR: '1' };
    execFile('sh', ['-c', command], { cwd: root, env }, (_error, stdout, stderr) => done(stdout + stderr));
  });
}

/** One run of all failing tests, because each start of the runner takes a second of a processor. */
const printedByAll = output(`cd ${folder} && ${vitest} run`);

/** The command that repeats a test of this file. */
async function repetition(file: string): Promise<string> {
  const lines = (await printedByAll).split('\n');
  return lines.find((line) => line.includes('RDMC_TEST_SEED=') && line.includes(file))!;
}

describe('a failure', () => {
  it('is followed by the command that repeats it, seed and failed example included', async () => {
    const printed = await printedByAll;
    expect(printed).toContain(
      `(cd ${folder} && npx vitest run numbers.case.ts -t '^numbers \\(all\\) one isn'\\''t two$')`,
    );
    const counterexample = /Counterexample: (\[\d+\])/.exec(printed)?.[1];
    expect(counterexample).toBeDefined();
    const command = await repetition('numbers.case.ts');
    expect(command).toContain(`-t '^numbers \\(all\\) are small$'`);
    const again = await output(command.replace('npx vitest', vitest));
    expect(again).toContain(`first value: ${counterexample!.slice(1, -1)}`);
    expect(again).toMatch(/1 failed \| 1 skipped/);
  });

  it('of a round names the seed of that round', async () => {
    const command = await repetition('rounds.case.ts');
    expect(command).toContain(`npx vitest run rounds.case.ts -t '^rounds that fail$'`);
    const bytes = /bytes: .*/.exec(await printedByAll)![0];
    const again = await output(command.replace('npx vitest', vitest));
    expect(again).toContain(`after 0 rounds, ${bytes}`);
  });

  it('of a test with a seed in its name sets that seed', () => {
    const names = ['a member dies', 'RDMC_TEST_SEED=4'];
    const failure = { folder: 'test-e2e', file: 'test/a.test.ts', names, text: 'it hangs' };
    expect(repeatCommand(failure)).toBe(
      "(cd test-e2e && RDMC_TEST_SEED=4 npx vitest run test/a.test.ts -t '^a member dies RDMC_TEST_SEED=4$')",
    );
  });

  it('of a whole file names the file', () => {
    const failure = { folder: 'packages/mesh', file: 'test/a.test.ts', names: [], text: 'cannot be loaded' };
    expect(repeatCommand(failure)).toBe('(cd packages/mesh && npx vitest run test/a.test.ts)');
  });
});
