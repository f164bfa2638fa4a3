// Builds the addon for arm64 on x86-64, for tools/release/pack.mjs --addon linux-arm64=FILE:
//   node tools/release/build-arm64.mjs --out FILE
// RDMC_ARM64_CACHE names the folder of the compiler and of the build. `npm run test:arm64` tests the same addon.
import { copyFileSync, mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { checkAddon } from './addon-check.mjs';
import { buildAddon } from './arm64/addon.mjs';
import { Missing } from './arm64/missing.mjs';

function stop(message, status = 1) {
  console.error(message);
  process.exit(status);
}

function readOut() {
  try {
    return parseArgs({ options: { out: { type: 'string' } } }).values.out;
  } catch (error) {
    return stop(`${error.message}: usage: node tools/release/build-arm64.mjs --out FILE`, 2);
  }
}

const out = readOut() ?? stop('usage: node tools/release/build-arm64.mjs --out FILE', 2);
try {
  const addon = buildAddon();
  checkAddon(addon, 'arm64');
  mkdirSync(dirname(resolve(out)), { recursive: true });
  copyFileSync(addon, out);
  console.log(`${out}: the addon for linux-arm64`);
} catch (error) {
  stop(error instanceof Missing ? `cannot build for arm64: ${error.message}` : error.message);
}
