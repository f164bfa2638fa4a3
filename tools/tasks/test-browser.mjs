// `npm run test:browser`: builds the site, and tests its pages in Chromium. With --smoke only the schedule explorer.
import { join } from 'node:path';
import { root, run, setUp, wantCommands } from './setup.mjs';

const smoke = process.argv[2] === '--smoke';
setUp();
wantCommands('Tests of the site in a browser', [['chromium', 'chromium']]);
run('site', 'node', ['tools/site/dist/build.js']);
const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
const args = [vitest, 'run', '--root', 'tools/site', ...(smoke ? ['explorer'] : [])];
run('browser', 'node', args, { loud: true, env: { RDMC_TEST_BROWSER: '1' } });
