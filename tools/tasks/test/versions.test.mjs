import { describe, expect, it } from 'vitest';
import { versionProblems } from '../versions.mjs';

const common = { name: '@rdmc/common', version: '1.2.3' };
const mesh = {
  name: '@rdmc/mesh',
  version: '1.2.3',
  dependencies: { '@rdmc/common': '1.2.3', zod: '^4.0.0' },
};
const tool = { name: '@rdmc/tool', version: '0.0.0', private: true, dependencies: { '@rdmc/mesh': '*' } };

describe('versions of the packages', () => {
  it('are right if public packages have one, and need each other in it', () => {
    expect(versionProblems([common, mesh, tool])).toEqual([]);
  });

  it('are wrong if a public package has another one', () => {
    expect(versionProblems([common, { ...mesh, version: '1.2.4' }])).toEqual([
      '@rdmc/mesh has version 1.2.4, others have 1.2.3',
    ]);
  });

  it('are wrong if a public package needs another one', () => {
    const behind = { ...mesh, dependencies: { '@rdmc/common': '1.2.2' } };
    expect(versionProblems([common, behind])).toEqual(['@rdmc/mesh needs @rdmc/common 1.2.2; write 1.2.3']);
  });

  it('are wrong if a private package names a version, which a release would not change', () => {
    const fixed = { ...tool, dependencies: { '@rdmc/mesh': '1.2.3' } };
    const using = { ...mesh, devDependencies: { '@rdmc/tool': '0.0.0' } };
    expect(versionProblems([common, mesh, fixed])).toEqual(['@rdmc/tool needs @rdmc/mesh 1.2.3; write *']);
    expect(versionProblems([common, using, tool])).toEqual(['@rdmc/mesh needs @rdmc/tool 0.0.0; write *']);
  });
});
