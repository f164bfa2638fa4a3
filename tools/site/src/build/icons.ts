import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ICON = /href="[^"]*assets\/icons\.svg#/g;

/**
 * TypeDoc's pages refer to icons in a file beside them, which browsers refuse for `file:` addresses. Its script puts the
 * same icons into each page, so the pages may refer to those.
 */
export function readIconsInPlace(site: string): void {
  for (const name of readdirSync(site, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.html')) continue;
    const path = join(site, name);
    writeFileSync(path, readFileSync(path, 'utf8').replace(ICON, 'href="#'));
  }
}
