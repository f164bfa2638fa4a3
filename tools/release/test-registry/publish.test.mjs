import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { sharedDirectory } from '@rdmc/testing';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { root, tool } from '../../tasks/setup.mjs';
import { chosenAddons } from '../addon.mjs';
import { packAll } from '../pack.mjs';
import { publishAll } from '../publish.mjs';
import { Registry } from '../registry/registry.mjs';

const workspace = sharedDirectory('rdmc-publish');
let registry;

beforeAll(async () => {
  registry = await Registry.start(workspace);
});
afterAll(() => registry?.close());

function dependenciesInRegistry(name) {
  const args = ['view', name, 'dependencies', 'optionalDependencies', '--json'];
  return JSON.parse(execFileSync('npm', args, { env: registry.environment, encoding: 'utf8' }));
}

describe('publication', () => {
  it('is refused to changeset publish, with the command to use', () => {
    const result = spawnSync(tool('changeset'), ['publish', '--no-git-tag'], {
      cwd: root,
      env: registry.environment,
      encoding: 'utf8',
    });
    expect(result.status).not.toBe(0);
    expect(result.stdout + result.stderr).toContain('npm run release -- --dry-run');
    expect(() => dependenciesInRegistry('@rdmc/verbs')).toThrow('E404');
  });

  it('continues after a failure where it ended', () => {
    const packed = packAll(join(workspace, 'tarballs'), chosenAddons([]));
    const options = { env: registry.environment };
    const [first, ...others] = packed;
    const log = vi.spyOn(console, 'log').mockImplementation(() => {});
    try {
      publishAll([first], options);
      publishAll([first, ...others.slice(0, 2)], options);
      expect(log.mock.calls.flat()).toEqual([
        `${first.name}@${first.version} published`,
        `${first.name}@${first.version} is already published`,
        ...others.slice(0, 2).map(({ name, version }) => `${name}@${version} published`),
      ]);
    } finally {
      log.mockRestore();
    }
  });

  it('publishes the manifest of the tarball', () => {
    const { optionalDependencies } = dependenciesInRegistry('@rdmc/verbs');
    expect(Object.keys(optionalDependencies)).toEqual([`@rdmc/verbs-linux-${process.arch}`]);
  });
});
