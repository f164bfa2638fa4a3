import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

const MAX_SAID = 20_000;

/** A process of the cluster that is tested: what it said last, and whether it is still there. */
export class WatchedProcess {
  /** Rejects when the process is gone, with what it said. */
  readonly gone: Promise<never>;
  #said = '';
  #isGone = false;

  constructor(
    name: string,
    protected readonly child: ChildProcess,
  ) {
    const keep = (text: Buffer): void => {
      this.#said = (this.#said + text).slice(-MAX_SAID);
    };
    child.stdout!.on('data', keep);
    child.stderr!.on('data', keep);
    child.on('error', () => {});
    this.gone = new Promise((_, reject) => {
      child.on('exit', (code, signal) => {
        this.#isGone = true;
        reject(new Error(`${name} ended (${signal ?? code}):\n${this.#said}`));
      });
    });
    this.gone.catch(() => {});
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** What it wrote to its output, the end of it. */
  get said(): string {
    return this.#said;
  }

  signal(signal: NodeJS.Signals): void {
    if (!this.#isGone) this.child.kill(signal);
  }

  /** Resolves when the process is gone. */
  async end(signal: NodeJS.Signals): Promise<void> {
    if (this.#isGone) return;
    const exited = once(this.child, 'exit');
    this.child.kill(signal);
    await exited;
  }
}
