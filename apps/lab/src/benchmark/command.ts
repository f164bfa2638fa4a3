import { spawn } from 'node:child_process';
import { LabError } from '../errors.js';
import { root } from '../root.js';

/** A command and its variables, as a shell would take them. */
export function shown(args: readonly string[], env: Readonly<Record<string, string>> = {}): string {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  return [...variables, 'node', ...args].join(' ');
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

function endBy(signal: NodeJS.Signals): void {
  process.kill(process.pid, signal);
}

/**
 * Runs a Node.js program of the repository; its progress goes to standard error. Returns its standard output. A signal
 * that ends this process ends the program first; `end` is called afterwards (default: the signal takes effect).
 * @throws LabError ERR_RDMC_BENCHMARK_FAILED
 */
export function runProgram(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  end: (signal: NodeJS.Signals) => void = endBy,
): Promise<string> {
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let signalled: NodeJS.Signals | undefined;
  const interrupt = (signal: NodeJS.Signals) => {
    signalled = signal;
    // A terminal sends SIGINT to both.
    if (signal !== 'SIGINT') child.kill(signal);
  };
  for (const signal of SIGNALS) process.on(signal, interrupt);
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      for (const each of SIGNALS) process.off(each, interrupt);
      if (signalled) end(signalled);
      if (code === 0) resolve(output);
      else reject(failed(`${shown(args, env)} ended with ${code ?? signal}`));
    });
  });
}

/** What a benchmark printed as JSON. @throws LabError ERR_RDMC_BENCHMARK_FAILED */
export function jsonOf<T>(output: string, command: string): T {
  try {
    return JSON.parse(output) as T;
  } catch (error) {
    throw failed(`${command} did not print JSON: ${(error as Error).message}`);
  }
}

export function failed(message: string): LabError {
  return new LabError('ERR_RDMC_BENCHMARK_FAILED', message);
}
