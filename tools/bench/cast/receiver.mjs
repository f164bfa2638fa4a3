// `rdmc receive` on loopback, for benchmarks.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** The command of this repository, as built. */
export const RDMC = fileURLToPath(new URL('../../../apps/rdmc/dist/main.js', import.meta.url));

/**
 * Starts a receiver, with any free port.
 * @param directory where it stores files
 * @param args further arguments of `rdmc receive`
 * @param command program and first arguments of `rdmc`
 * @returns its address for `--to` when it listens, and `ended`, which resolves when the process has ended
 */
export async function startReceiver(directory, args = [], command = [process.execPath, RDMC]) {
  const [program, ...first] = command;
  const own = ['receive', '--listen', '127.0.0.1:0', '--dir', directory, '--json'];
  const child = spawn(program, [...first, ...own, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  const address = new Promise((resolve) => {
    // All its lines are read: a full pipe would stop it.
    createInterface({ input: child.stdout }).on('line', (line) => {
      const { event, host, port } = JSON.parse(line);
      if (event === 'listening') resolve(`${host}:${port}`);
    });
  });
  const early = ended.then(([code, signal]) => {
    throw new Error(`A receiver ended with ${code ?? signal} before it listened`);
  });
  // After the start the caller handles its end.
  early.catch(() => {});
  return { child, ended, address: await Promise.race([address, early]) };
}
