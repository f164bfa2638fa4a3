// Options, of which users need none:
//   --strict          a warning is an error; compilers that were not tested may have more warnings
//   --portable        the addon of a release: no newer glibc than 2.28 is needed, and no libstdc++
//   --arch ARCH       the processor that CXX compiles for
//   --folder FOLDER   a copy of native/, to build in
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startAnewIfChanged } from './configuration.mjs';
import { needCompiler, needFolder, needHeaders, needPlatform, needTools } from './needs.mjs';
import { nodeGyp } from './node-gyp.mjs';
import { BuildProblem } from './problem.mjs';
import { Progress } from './progress.mjs';

const NATIVE = fileURLToPath(new URL('../../native', import.meta.url));
const OPTIONS = {
  strict: { type: 'boolean', default: false },
  portable: { type: 'boolean', default: false },
  arch: { type: 'string', default: process.arch },
  folder: { type: 'string', default: NATIVE },
};

function readOptions() {
  try {
    return parseArgs({ options: OPTIONS }).values;
  } catch (error) {
    throw new BuildProblem(`${error.message.split('\n')[0]}: run it without options`);
  }
}

async function build({ strict, portable, arch: processor, folder: asked }) {
  const folder = resolve(asked);
  needPlatform(processor);
  const compiler = needCompiler();
  needTools();
  needHeaders(folder);
  needFolder(join(folder, 'build'));
  startAnewIfChanged(folder, { compiler, processor, portable });
  const settings = { processor, portable, flags: strict ? ['-Werror'] : [] };
  const progress = new Progress(folder);
  const configured = existsSync(join(folder, 'build', 'Makefile'));
  try {
    for (const step of configured ? ['build'] : ['configure', 'build']) {
      const { succeeded, output } = await nodeGyp(step, folder, settings, (text) => progress.add(text));
      if (succeeded) continue;
      console.error(output);
      throw new BuildProblem('building the native addon failed: the output above says why');
    }
    progress.end('built');
  } finally {
    progress.stop();
  }
}

try {
  const options = readOptions();
  if (process.platform === 'linux') await build(options);
  // Elsewhere the pure packages work, so that this is not an error.
  else console.log(`rdmc-verbs-build: nothing to build on ${process.platform}; devices need Linux`);
} catch (error) {
  // A defect shows its stack; what is missing does not.
  const isKnown = error instanceof BuildProblem || error.code?.startsWith?.('E');
  console.error(isKnown ? `rdmc-verbs-build: ${error.message}` : error);
  process.exitCode = 1;
}
