import { expect, it } from 'vitest';
import { publishOrder, withNeeded } from '../order.mjs';

const entry = (name, dependencies = [], optionalDependencies = []) => {
  const ranges = (names) => Object.fromEntries(names.map((each) => [each, '1.0.0']));
  return {
    manifest: {
      name,
      dependencies: ranges(dependencies),
      optionalDependencies: ranges(optionalDependencies),
    },
  };
};
const names = (entries) => entries.map(({ manifest }) => manifest.name);

it('a package comes after all that it needs, platform packages included', () => {
  const entries = [
    entry('@rdmc/group', ['@rdmc/verbs', 'piscina']),
    entry('@rdmc/verbs', ['@rdmc/common'], ['@rdmc/verbs-linux-x64']),
    entry('@rdmc/common'),
    entry('@rdmc/verbs-linux-x64'),
  ];
  expect(names(publishOrder(entries))).toEqual([
    '@rdmc/common',
    '@rdmc/verbs-linux-x64',
    '@rdmc/verbs',
    '@rdmc/group',
  ]);
});

it('a package that needs one outside of the release is refused', () => {
  expect(() => publishOrder([entry('@rdmc/verbs', [], ['@rdmc/verbs-linux-arm64'])])).toThrow(
    '@rdmc/verbs needs @rdmc/verbs-linux-arm64, which is not in this release',
  );
});

it('packages that need each other are refused', () => {
  expect(() => publishOrder([entry('@rdmc/a', ['@rdmc/b']), entry('@rdmc/b', ['@rdmc/a'])])).toThrow(
    'Packages need each other: @rdmc/a > @rdmc/b > @rdmc/a',
  );
});

it('what a package needs is found at any depth', () => {
  const entries = [entry('@rdmc/common'), entry('@rdmc/kv'), entry('@rdmc/mesh', ['@rdmc/common'])];
  const all = [...entries, entry('@rdmc/node', ['@rdmc/mesh'])];
  expect(names(withNeeded(all, ['@rdmc/node']))).toEqual(['@rdmc/common', '@rdmc/mesh', '@rdmc/node']);
});
