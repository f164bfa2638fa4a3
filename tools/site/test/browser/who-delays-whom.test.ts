import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { sharedDirectory } from '@rdmc/testing';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { root } from '../../src/root.js';
import { faultsOf, launch, missing, visit } from './browser.js';

describe.skipIf(missing)(`the page of a trace${missing ? ` [skipped: ${missing}]` : ''}`, () => {
  const file = join(sharedDirectory(), 'trace.html');
  let browser: Browser;
  beforeAll(async () => {
    const args = ['simulate', '-n', '4', '-k', '8', '--slow-link', '0-1:0.25', '--trace', file];
    execFileSync(join(root, 'apps/rdmc/bin/rdmc'), args, { stdio: 'pipe' });
    browser = await launch();
  });
  afterAll(() => browser?.close());

  it('draws all members without a request, and axe finds no serious fault', async () => {
    await using opened = await visit(browser, pathToFileURL(file).href);
    const { page, errors } = opened;
    expect(await page.locator('#summary').textContent()).toContain('comes down to');
    const drawn = await page.evaluate(() => {
      const canvas = document.querySelector('canvas')!;
      const { data } = canvas.getContext('2d')!.getImageData(0, 0, canvas.width, canvas.height);
      const colours = new Set<string>();
      for (let at = 0; at < data.length; at += 4) {
        if (data[at + 3] === 255) colours.add([data[at], data[at + 1], data[at + 2]].join());
      }
      // Of waits for a block, sends and receives.
      return ['209,36,47', '9,105,218', '26,127,55'].map((colour) => colours.has(colour));
    });
    expect(drawn).toEqual([true, true, true]);
    expect(errors).toEqual([]);
    expect(await faultsOf(page)).toEqual([]);
    // Only this file was loaded.
    expect(await page.evaluate(() => performance.getEntriesByType('resource').length)).toBe(0);
    expect(readFileSync(file, 'utf8')).toContain('who delays whom');
  });

  it('goes from wait to wait, and zooms, by keys', async () => {
    await using opened = await visit(browser, pathToFileURL(file).href);
    const { page, errors } = opened;
    const details = page.locator('#details');
    await page.locator('canvas').focus();
    for (const key of ['ArrowDown', 'n']) await page.keyboard.press(key);
    expect(await details.textContent()).toMatch(/^Member 1: waits for .*; group 0/);
    const first = await details.textContent();
    for (const key of ['n', '+', '+', 'ArrowRight', '-', '0', 'End', 'Home']) await page.keyboard.press(key);
    expect(await details.textContent()).not.toBe(first);
    await page.keyboard.press('p');
    expect(await details.textContent()).toBe(first);
    await page.locator('canvas').hover({ position: { x: 300, y: 60 } });
    await page.mouse.wheel(0, -400);
    expect(errors).toEqual([]);
  });
});
