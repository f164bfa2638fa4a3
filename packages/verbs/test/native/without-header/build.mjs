// The package with an addon that was built without <infiniband/verbs.h>: the objects of the addon beside the
// sources, except the unit that uses the header, which is compiled again. Prints the folder. Exits with 2 if those objects, or a
// compiler, are missing (a prebuilt addon).
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const MISSING = 2;
const packageFolder = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');
const native = join(packageFolder, 'native');
const built = join(native, 'build', 'Release', 'obj.target', 'rdmc_verbs');
const compiler = process.env.CXX ?? 'g++';

if (!existsSync(built) || spawnSync(compiler, ['--version']).status !== 0) {
  console.error('an addon built here and a C++ compiler are needed');
  process.exit(MISSING);
}

function run(args) {
  const { status } = spawnSync(compiler, args, { stdio: ['ignore', 2, 2] });
  if (status !== 0) process.exit(1);
}

/** The one unit that mentions libibverbs. */
const ASKS = 'unit_ibverbs';
// Below the package, so that its imports are found.
const folder = mkdtempSync(join(native, 'build', 'without-header-'));
const release = join(folder, 'native', 'build', 'Release');
mkdirSync(release, { recursive: true });
mkdirSync(join(folder, 'dist'));
for (const name of readdirSync(join(packageFolder, 'dist'))) {
  copyFileSync(join(packageFolder, 'dist', name), join(folder, 'dist', name));
}
copyFileSync(join(packageFolder, 'package.json'), join(folder, 'package.json'));

const nodeHeaders = createRequire(import.meta.url)('node-api-headers').include_dir;
const includes = [
  `-I${native}`,
  `-I${nodeHeaders}`,
  `-I${dirname(createRequire(import.meta.url).resolve('node-addon-api/napi.h'))}`,
];
const defines = ['-DNAPI_VERSION=9', '-DNODE_ADDON_API_DISABLE_DEPRECATED', '-DRDMC_WITHOUT_IBVERBS'];
const own = join(folder, `${ASKS}.o`);
const files = ['-c', join(native, `${ASKS}.cc`), '-o', own];
run(['-std=gnu++20', '-fPIC', '-fvisibility=hidden', ...defines, ...includes, ...files]);
// Only of existing units: a build leaves the objects of deleted sources behind.
const others = readdirSync(built)
  .filter((name) => name.startsWith('unit_') && name !== `${ASKS}.o`)
  .filter((name) => existsSync(join(native, name.replace(/\.o$/, '.cc'))))
  .map((name) => join(built, name));
const addon = join(release, 'rdmc_verbs.node');
run(['-shared', '-pthread', own, ...others, '-o', addon]);
console.log(folder);
