import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { animation } from '../src/animation/animation.js';
import { animationFile } from '../src/animation/file.js';
import { root } from '../src/root.js';

it('the picture of the README is up to date (else: npm run docs:animation), and small', () => {
  expect(readFileSync(animationFile, 'utf8')).toBe(animation());
  expect(statSync(animationFile).size).toBeLessThan(60_000);
});

it('it has every transfer of both schedules', () => {
  expect(animation().match(/class="f"/g)).toHaveLength(2 * 28);
});

it('the README shows it with a text', () => {
  expect(readFileSync(join(root, 'README.md'), 'utf8')).toMatch(
    /<img src="docs\/images\/schedule.svg"[^>]* alt="[^"]{40,}"/,
  );
});
