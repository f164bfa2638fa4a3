/** `npm run site` writes the site to tools/site/build/site. It opens from there as files, without a server. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chartStyle, readRecords, recordsFolder, reportPage } from '@rdmc/lab';
import { deadHtmlLinks } from '../links/dead-html-links.js';
import { root } from '../root.js';
import { writeDocumentation } from './documentation.js';
import { explorerPage } from './explorer.js';
import { readIconsInPlace } from './icons.js';

const out = join(root, 'tools/site/build/site');
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const style = join(out, '..', 'site.css');
writeFileSync(style, chartStyle() + readFileSync(join(root, 'tools/site/page/site.css'), 'utf8'));
const findings = await writeDocumentation(out, style);
writeFileSync(join(out, 'explorer.html'), await explorerPage());
writeFileSync(join(out, 'figures.html'), reportPage(readRecords(recordsFolder)));
readIconsInPlace(out);
const dead = deadHtmlLinks(out);
for (const link of dead) console.error(`dead link: ${link}`);
if (findings + dead.length > 0) {
  console.error(`The site has ${findings} warnings and ${dead.length} dead links`);
  process.exitCode = 1;
} else {
  console.log(`file://${out}/index.html`);
}
