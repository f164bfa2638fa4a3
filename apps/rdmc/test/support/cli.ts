import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type DemoEvent, demoEvent } from '../../src/demo/events.js';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The built command, running. */
export class Cli {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  readonly #waiting: { fits: (line: string) => boolean; resolve: (line: string) => void }[] = [];
  #lines: string[] = [];
  #stdout = '';
  #rest = '';
  #stderr = '';

  constructor(args: readonly string[], environment: NodeJS.ProcessEnv = {}) {
    const env = { ...process.env, NO_COLOR: undefined, RDMC_DEVICE: undefined, ...environment };
    this.child = spawn(process.execPath, [MAIN, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.child.stdout!.setEncoding('utf8').on('data', (text: string) => this.#take(text));
    this.child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text;
    });
    this.ended = new Promise((resolve) => {
      this.child.on('close', (code, signal) =>
        resolve({ code, signal, stdout: this.#stdout, stderr: this.#stderr }),
      );
    });
  }

  /** The first event of that name; rejects when the command ends without it. */
  event<Name extends DemoEvent['event']>(name: Name): Promise<Extract<DemoEvent, { event: Name }>> {
    const isWanted = (line: string): boolean => JSON.parse(line).event === name;
    const found = this.#lines.find(isWanted);
    const line = found
      ? Promise.resolve(found)
      : new Promise<string>((resolve) => this.#waiting.push({ fits: isWanted, resolve }));
    const ended = this.ended.then(({ code, stderr }): never => {
      throw new Error(`ended with ${code} before '${name}': ${stderr}`);
    });
    return Promise.race([line, ended]).then((text) => demoEvent.parse(JSON.parse(text))) as never;
  }

  #take(text: string): void {
    this.#stdout += text;
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop()!;
    for (const line of lines) {
      this.#lines.push(line);
      for (const waiting of this.#waiting) if (waiting.fits(line)) waiting.resolve(line);
    }
  }
}

export function run(...args: readonly string[]): Promise<Ended> {
  return new Cli(args).ended;
}

/** A folder for temporary files of its own, to see what is left in it. */
export class Scratch {
  readonly path = mkdtempSync(join(tmpdir(), 'rdmc-cli-test-'));

  get environment(): NodeJS.ProcessEnv {
    return { TMPDIR: this.path };
  }

  left(): string[] {
    return readdirSync(this.path);
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** The events a demonstration printed. */
export function eventsOf({ stdout }: Ended): DemoEvent[] {
  return stdout
    .trim()
    .split('\n')
    .map((line) => demoEvent.parse(JSON.parse(line)));
}
