import { readFileSync } from 'node:fs';
import { expectExample } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { presets, simulatorErrors } from '../src/index.js';

const home = new URL('../', import.meta.url);
const readme = readFileSync(new URL('README.md', home), 'utf8');

describe('README', () => {
  it('shows the example that is in example.mjs, and what it prints', () => expectExample(home));

  it('lists every preset and every error code', () => {
    for (const name of presets.keys()) expect(readme).toContain(`| \`${name}\``);
    for (const code of Object.keys(simulatorErrors)) expect(readme).toContain(`| \`${code}\``);
  });
});
