// Loaded into every Node process and worker by NODE_OPTIONS: the addon named by RDMC_TEST_ADDON takes the place of the
// one that was built beside the sources.
const { join } = require('node:path');

const BUILT = join(__dirname, '..', '..', 'native', 'build', 'Release', 'rdmc_verbs.node');
const { dlopen } = process;
process.dlopen = (module, file, ...flags) =>
  dlopen.call(process, module, file === BUILT ? process.env.RDMC_TEST_ADDON : file, ...flags);
