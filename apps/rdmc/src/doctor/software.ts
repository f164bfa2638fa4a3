import { spawnSync } from 'node:child_process';
import { arch, platform } from 'node:os';
import { isOldNode, LEAST_NODE } from '@rdmc/common/node-floor';
import { openDevice } from '@rdmc/verbs';
import { codeOf, messageOf } from '../errors.js';
import { type CheckResult, result } from './check.js';

export function checkNode(found = process.versions.node): CheckResult {
  if (!isOldNode(found)) return result('node', 'Node.js', 'ok', found);
  return result('node', 'Node.js', 'fail', found, `install Node.js ${LEAST_NODE} or newer`);
}

export function checkPlatform(system = platform(), cpu = arch()): CheckResult {
  const found = `${system}-${cpu}`;
  if (system !== 'linux') {
    const advice = 'devices need Linux; rdmc schedule works on this platform too';
    return result('platform', 'Platform', 'fail', found, advice);
  }
  return result('platform', 'Platform', 'ok', found);
}

function hasCommand(command: string): boolean {
  return spawnSync(command, ['--version'], { stdio: 'ignore', timeout: 5000 }).status === 0;
}

/** Checked only when the addon is missing. */
function checkCompiler(): CheckResult {
  const compiler = [process.env.CXX, 'g++', 'clang++'].find((name) => name && hasCommand(name));
  const missing = [...(compiler ? [] : ['g++']), ...['make', 'python3'].filter((tool) => !hasCommand(tool))];
  if (missing.length === 0) {
    return result(
      'compiler',
      'Compiler',
      'warn',
      `${compiler} found`,
      'build the addon: npx rdmc-verbs-build',
    );
  }
  const advice = `apt-get install ${missing.join(' ')}, then npx rdmc-verbs-build`;
  return result('compiler', 'Compiler', 'fail', `missing: ${missing.join(', ')}`, advice);
}

/** Whether the native addon loads and the soft device opens; if it does not, whether it could be built. */
export async function checkAddon(): Promise<CheckResult[]> {
  try {
    const device = await openDevice({ device: 'soft' });
    await device.close();
    return [result('addon', 'Native addon', 'ok', 'loads, and the soft device opens')];
  } catch (error) {
    const code = codeOf(error);
    const found = `${code ?? 'error'}: ${messageOf(error)}`;
    if (code !== 'ERR_RDMC_NATIVE_MISSING')
      return [result('addon', 'Native addon', 'fail', found, 'the message has the reason')];
    const advice = 'run npm install again with optional packages, or build it: npx rdmc-verbs-build';
    return [result('addon', 'Native addon', 'fail', found, advice), checkCompiler()];
  }
}
