import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import axe from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { root } from '../../src/root.js';

const PATH = process.env.RDMC_TEST_CHROMIUM ?? '/usr/bin/chromium';
const SITE = join(root, 'tools/site/build/site');

/** Why these tests cannot run; undefined if they can. */
export const missing = existsSync(PATH)
  ? undefined
  : `needs ${PATH}: apt-get install chromium, or RDMC_TEST_CHROMIUM=PATH`;

export function launch(): Promise<Browser> {
  // Without a sandbox, because root cannot have one. The pages are files of this repository.
  return chromium.launch({ executablePath: PATH, args: ['--no-sandbox'] });
}

/** The address of a page of the built site. */
export function addressOf(page: string): string {
  return pathToFileURL(join(SITE, page)).href;
}

/** A page, and what went wrong in it so far. */
export interface Visit extends AsyncDisposable {
  readonly page: Page;
  readonly errors: readonly string[];
  close(): Promise<void>;
}

export async function visit(
  browser: Browser,
  address: string,
  options: BrowserContextOptions = {},
): Promise<Visit> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const errors: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) errors.push(message.text());
  });
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('requestfailed', (request) => errors.push(`${request.url()}: ${request.failure()?.errorText}`));
  await page.goto(address);
  const close = (): Promise<void> => context.close();
  return { page, errors, close, [Symbol.asyncDispose]: close };
}

/** Serious and critical faults that axe finds, as text. `except` names rules that do not count. */
export async function faultsOf(page: Page, except: readonly string[] = []): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() =>
    (globalThis as unknown as { axe: typeof axe }).axe.run({ resultTypes: ['violations'] }),
  );
  return violations
    .filter(({ id, impact }) => !except.includes(id) && (impact === 'serious' || impact === 'critical'))
    .map(
      ({ id, nodes }) =>
        `${id}: ${nodes
          .map(({ html }) => html)
          .slice(0, 3)
          .join(' ')}`,
    );
}
