// `npm run test:arm64`: the addon for arm64, built here, under an emulator (tools/release/arm64). Tests code paths,
// structures and copies; not the order in which other processors see writes, because the emulator keeps that of x86-64.
// Compiler, emulator and Node.js come from Debian and npm. Nothing is installed: RDMC_ARM64_CACHE names their folder.
// With --smoke some chapters of the compliance suite, with an addon that compiles faster.
import { join } from 'node:path';
import { USE_ADDON } from '../../packages/verbs/test/native/variant.mjs';
import { checkAddon } from '../release/addon-check.mjs';
import { buildAddon } from '../release/arm64/addon.mjs';
import { Emulator } from '../release/arm64/emulator.mjs';
import { Missing } from '../release/arm64/missing.mjs';
import { node } from '../release/arm64/node.mjs';
import { passParts } from './parts.mjs';
import { root, setUp } from './setup.mjs';

const smoke = process.argv[2] === '--smoke';
const RDMC = join(root, 'apps', 'rdmc', 'bin', 'rdmc');
const COMPLIANCE = join(root, 'packages', 'verbs-compliance', 'test', 'soft-node-runner.mjs');
const FAST_TO_COMPILE = ['-O1'];
/** The emulator is about ten times slower. */
const LIMIT = { RDMC_TEST_LIMIT_MS: '180000' };

function compliance(transport, placement, ...chapters) {
  return [`compliance over ${transport}, ${placement}`, [COMPLIANCE, transport, placement, ...chapters]];
}

const FULL = [
  ...['shm', 'tcp'].flatMap((transport) =>
    ['thread', 'process'].map((placement) => compliance(transport, placement)),
  ),
  ['a group', [join(root, 'packages', 'group', 'example.mjs')]],
  ['rdmc doctor', [RDMC, 'doctor']],
  ['rdmc demo', [RDMC, 'demo', '--members', '4', '--size', '8MiB']],
];
const SMOKE = [
  compliance('shm', 'process', 'opcodes'),
  compliance('tcp', 'thread', 'opcodes'),
  ['rdmc doctor', [RDMC, 'doctor']],
];

/** What runs where this machine has all that is needed. */
function prepare() {
  const emulator = new Emulator();
  const program = node();
  const addon = buildAddon(smoke ? FAST_TO_COMPILE : []);
  checkAddon(addon, 'arm64');
  const env = { ...LIMIT, NODE_OPTIONS: `--require=${USE_ADDON}`, RDMC_TEST_ADDON: addon };
  return (smoke ? SMOKE : FULL).map(([label, args]) => ({
    label: `arm64: ${label}`,
    ...emulator.command(program, args, env),
  }));
}

setUp();
try {
  await passParts(prepare());
} catch (error) {
  if (!(error instanceof Missing)) throw error;
  console.log(`left out: arm64: ${error.message}`);
}
