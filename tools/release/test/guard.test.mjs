import { spawnSync } from 'node:child_process';
import { join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { root } from '../../tasks/setup.mjs';
import { publicPackages } from '../workspace.mjs';

function expectRefused({ status, stderr }, name) {
  expect(status).toBe(1);
  expect(stderr).toContain(
    `${name} is published with all others: run 'npm run release -- --dry-run', then 'npm run release', at the root of the repository\n`,
  );
}

describe('publication of a single package', () => {
  it.each(publicPackages())('$manifest.name has the guard', ({ folder, manifest }) => {
    const guard = relative(join(root, folder), join(root, 'tools/release/guard.mjs'));
    expect(manifest.scripts.prepublishOnly).toBe(`node ${guard}`);
  });

  it('is refused in one line, with the name of the package', () => {
    const env = { ...process.env, npm_package_name: '@rdmc/common' };
    const guard = join(root, 'tools/release/guard.mjs');
    const result = spawnSync(process.execPath, [guard], { env, encoding: 'utf8' });
    expectRefused(result, '@rdmc/common');
    expect(result.stderr.trim().split('\n')).toHaveLength(1);
  });

  it('is refused by npm publish, which runs the guard', () => {
    // No registry listens there: without the guard, npm would try it.
    const args = ['publish', '--dry-run', '--registry', 'http://127.0.0.1:9/'];
    const result = spawnSync('npm', args, { cwd: join(root, 'packages/verbs'), encoding: 'utf8' });
    expectRefused(result, '@rdmc/verbs');
  });
});
