import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { temporaryDirectory } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { packageProblems } from '../package-check.mjs';

const MANIFEST = {
  name: '@rdmc/mesh',
  version: '1.2.3',
  description: 'a package',
  keywords: ['rdma'],
  license: 'Apache-2.0',
  author: 'The RDMC authors',
  homepage: 'https://example.com/',
  bugs: { url: 'https://example.com/' },
  repository: { type: 'git', url: 'https://example.com/' },
  engines: { node: '>=20.19' },
  dependencies: { '@rdmc/common': '1.2.3' },
};
const FILES = { LICENSE: 'Apache', 'README.md': '# mesh', 'CHANGELOG.md': '# mesh\n\n## 1.2.3\n' };

/** An unpacked tarball that has no problems, with these changes; a file without text is left out. */
function problems({ manifest = {}, files = {} } = {}) {
  const folder = temporaryDirectory('rdmc-tarball');
  const all = { ...FILES, 'package.json': JSON.stringify({ ...MANIFEST, ...manifest }), ...files };
  for (const [name, text] of Object.entries(all).filter(([, each]) => each !== undefined)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return packageProblems(folder);
}

describe('the check of a tarball', () => {
  it('passes a complete package', () => {
    const code = [
      "import { readFileSync } from 'node:fs';",
      "import { a } from '@rdmc/common/errors';",
      "/** import { b } from 'zod'; */",
      "import './chunk.js';",
    ];
    expect(problems({ files: { 'dist/index.js': code.join('\n') } })).toEqual([]);
  });

  it.each(Object.keys(FILES))('says that there is no %s', (name) => {
    expect(problems({ files: { [name]: undefined } })).toEqual([`there is no ${name}`]);
  });

  it.each(['keywords', 'homepage', 'bugs', 'repository', 'author', 'license'])(
    'says that the manifest has no %s',
    (field) => {
      expect(problems({ manifest: { [field]: undefined } })).toEqual([`package.json has no ${field}`]);
    },
  );

  it('says that the changelog does not have the version', () => {
    expect(problems({ manifest: { version: '1.2.4' } })).toEqual(['CHANGELOG.md does not have 1.2.4']);
  });

  it('says that a script runs at installation', () => {
    expect(problems({ manifest: { scripts: { postinstall: 'node x' } } })).toEqual([
      'package.json has scripts that run at installation: postinstall',
    ]);
  });

  it.each([
    ['dist/index.js', "import{a}from'zod';"],
    ['dist/index.js', "const z = await import('zod');"],
    ['dist/index.d.ts', "export * as z from 'zod/v4';"],
    ['dist/index.d.ts', "import type { a,\n  b } from 'zod';"],
  ])('says that %s imports what the package does not depend on: %s', (name, code) => {
    expect(problems({ files: { [name]: code } })).toEqual([
      `${name} imports zod, which is not among the dependencies`,
    ]);
  });

  it('says that a source map contains the sources', () => {
    const map = JSON.stringify({ version: 3, sources: ['a.ts'], sourcesContent: ['a'] });
    expect(problems({ files: { 'dist/index.js.map': map } })).toEqual([
      'dist/index.js.map contains the sources',
    ]);
  });

  it('says that an addon is in a package for all platforms', () => {
    expect(problems({ files: { 'a.node': '' } })).toEqual(['a.node is not for one platform']);
  });
});
