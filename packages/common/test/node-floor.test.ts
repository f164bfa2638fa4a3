import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { isOldNode, LEAST_NODE, oldNodeMessage } from '../src/node-floor.js';

it.each([
  ['18.20.4', true],
  ['20.18.3', true],
  ['20.19.0', false],
  ['21.0.0', false],
  ['26.12.0', false],
])('Node.js %s is too old: %s', (version, old) => {
  expect(isOldNode(version)).toBe(old);
});

it('the message has the version that is there and the one that is needed', () => {
  expect(oldNodeMessage('rdmc', '18.20.4')).toBe(
    'rdmc needs Node.js 20.19 or newer, and this is 18.20.4: install a newer one',
  );
});

it('every manifest has the same oldest version', () => {
  const root = new URL('../../../', import.meta.url);
  const manifests = ['packages', 'apps', 'tools'].flatMap((parent) =>
    readdirSync(new URL(parent, root))
      .map((name) => fileURLToPath(new URL(`${parent}/${name}/package.json`, root)))
      .filter((path) => existsSync(path)),
  );
  expect(manifests.length).toBeGreaterThan(15);
  const others = manifests.filter((path) => {
    const { engines } = JSON.parse(readFileSync(path, 'utf8'));
    return engines?.node !== `>=${LEAST_NODE}`;
  });
  expect(others).toEqual([]);
});
