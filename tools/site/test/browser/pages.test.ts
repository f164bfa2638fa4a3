import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addressOf, faultsOf, launch, missing, visit } from './browser.js';

describe.skipIf(missing)(`the pages of the site, as files${missing ? ` [skipped: ${missing}]` : ''}`, () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser?.close());

  it.each([
    'index.html',
    'documents/First_multicast.html',
    'documents/Files_to_many_machines.html',
    'documents/Over_a_network.html',
    'documents/Error_codes.html',
    'figures.html',
    'modules/_rdmc_group.html',
    'classes/_rdmc_group.Group.html',
  ])('%s loads without errors, and axe finds no serious fault', async (path) => {
    await using opened = await visit(browser, addressOf(path));
    expect(opened.errors).toEqual([]);
    // The generator's theme has a link in each title that folds a section of the reference.
    expect(await faultsOf(opened.page, ['nested-interactive'])).toEqual([]);
  });

  it('the start page leads to a guide, and the guide to a package', async () => {
    await using opened = await visit(browser, addressOf('index.html'));
    const { page } = opened;
    await page
      .getByRole('main')
      .or(page.locator('.col-content'))
      .getByRole('link', { name: 'First multicast' })
      .first()
      .click();
    await page.locator('.col-content').getByRole('link', { name: '@rdmc/group' }).first().click();
    expect(page.url()).toContain('modules/_rdmc_group.html');
    expect(opened.errors).toEqual([]);
  });

  it('search finds an export', async () => {
    await using opened = await visit(browser, addressOf('index.html'));
    const { page } = opened;
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('combobox').fill('createSchedule');
    await page
      .getByRole('option', { name: /createSchedule/ })
      .first()
      .waitFor();
  });

  it('the explorer works inside of its page', async () => {
    await using opened = await visit(browser, addressOf('documents/Schedule_explorer.html'));
    const clock = opened.page.frameLocator('iframe').locator('#clock');
    await opened.page.frameLocator('iframe').getByRole('button', { name: 'One step forward' }).click();
    expect(await clock.textContent()).toBe('step 1');
    expect(opened.errors).toEqual([]);
  });
});
