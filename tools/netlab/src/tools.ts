import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { NetlabError } from './errors.js';

const PACKAGES: Readonly<Record<string, string>> = { ip: 'iproute2', tc: 'iproute2', unshare: 'util-linux' };

const FOLDERS = (process.env.PATH ?? '').split(delimiter);

function installed(tool: string, folders: readonly string[]): boolean {
  return folders.some((folder) => existsSync(join(folder, tool)));
}

/** Throws unless labs can be created here: Linux, root, and the tools. */
export function requireTools(folders: readonly string[] = FOLDERS): void {
  if (process.platform !== 'linux') {
    throw new NetlabError(
      'ERR_RDMC_NETLAB_NOT_LINUX',
      `labs need network namespaces of Linux; this is ${process.platform}`,
    );
  }
  for (const [tool, name] of Object.entries(PACKAGES)) {
    if (!installed(tool, folders)) {
      throw new NetlabError(
        'ERR_RDMC_NETLAB_TOOL_MISSING',
        `${tool} is not installed; on Debian and Ubuntu: apt-get install ${name}`,
      );
    }
  }
  if (process.getuid?.() !== 0) {
    throw new NetlabError(
      'ERR_RDMC_NETLAB_NOT_ROOT',
      `creating network namespaces needs root; this is user ${process.getuid?.()}: use sudo`,
    );
  }
}

function failed(command: readonly string[], input: string, status: unknown, stderr: string): NetlabError {
  // `-batch` names the line that failed: show the line itself.
  const line = /Command failed -:(\d+)/.exec(stderr)?.[1];
  const what = line === undefined ? '' : ` at "${input.split('\n')[Number(line) - 1]}"`;
  return new NetlabError(
    'ERR_RDMC_NETLAB_COMMAND_FAILED',
    `${command.join(' ')} failed (${status})${what}: ${stderr.trim() || 'it said nothing'}`,
  );
}

/** Runs a tool; resolves with its output, or rejects with its error output. */
export function run(command: readonly [string, ...string[]], input = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command[0], command.slice(1), { stdio: ['pipe', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text) => {
      stderr += text;
    });
    child.once('error', (error) =>
      reject(new NetlabError('ERR_RDMC_NETLAB_COMMAND_FAILED', `cannot run ${command[0]}`, error)),
    );
    child.once('close', (code, signal) => {
      if (code === 0) resolve(stdout);
      else reject(failed(command, input, code ?? signal, stderr));
    });
    // A tool that ends before it has read its input reports itself by its exit code.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}

/** The same synchronously, for the end of the process; failures are only returned. */
export function runSync(command: readonly [string, ...string[]], input = ''): NetlabError | undefined {
  const done = spawnSync(command[0], command.slice(1), { input, encoding: 'utf8' });
  return done.status === 0
    ? undefined
    : failed(command, input, done.status ?? done.signal, done.stderr ?? '');
}

/** Many commands of `ip` or `tc` in one process, in a namespace or outside. */
export async function batch(
  tool: 'ip' | 'tc',
  namespace: string | undefined,
  lines: readonly string[],
): Promise<void> {
  if (lines.length === 0) return;
  const where = namespace === undefined ? [] : ['-n', namespace];
  await run([tool, ...where, '-batch', '-'], `${lines.join('\n')}\n`);
}
