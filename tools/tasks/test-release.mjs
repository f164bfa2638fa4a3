// `npm run test:release`: installs every public package with every package manager from a registry of its own, and runs the
// examples of the READMEs. With --smoke: npm, and two packages. With --write-sizes: docs/install-sizes.md gets the measured sizes.
import { parseArgs } from 'node:util';
import { run, setUp, tool } from './setup.mjs';

const { values } = parseArgs({
  options: { smoke: { type: 'boolean', default: false }, 'write-sizes': { type: 'boolean', default: false } },
});
const env = {
  ...(values.smoke && { RDMC_TEST_RELEASE: 'smoke' }),
  ...(values['write-sizes'] && { RDMC_TEST_SIZES: 'write' }),
};
setUp();
const args = ['run', '--root', 'tools/release', '--config', 'registry.vitest.config.ts'];
run('installations from a registry', tool('vitest'), args, { loud: true, env });
