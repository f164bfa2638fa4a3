import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const command = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

export interface AdminOutput {
  readonly stdout: string;
  readonly stderr: string;
  readonly status: number;
}

/** `kv admin` as a process: needs the built dist. */
export function admin(port: number, ...words: string[]): Promise<AdminOutput> {
  return new Promise((resolve) => {
    const args = [command, 'admin', ...words, '--connect', `127.0.0.1:${port}`];
    const child = execFile(process.execPath, args, (_, stdout, stderr) =>
      resolve({ stdout, stderr, status: child.exitCode! }),
    );
  });
}
