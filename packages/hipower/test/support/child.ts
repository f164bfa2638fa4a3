import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** A member in a process of its own (`member.mjs`), which does what its options say and reports over IPC. */
export class Child {
  readonly #child: ChildProcess;
  readonly #messages: Record<string, unknown>[] = [];
  #waiting: { want: string; resolve: (message: Record<string, unknown>) => void }[] = [];
  readonly exited: Promise<unknown[]>;

  constructor(options: object, server: import('node:net').Server) {
    this.#child = fork(fileURLToPath(new URL('./member.mjs', import.meta.url)), { stdio: 'inherit' });
    this.exited = once(this.#child, 'exit');
    this.#child.on('message', (message) => this.#take(message as Record<string, unknown>));
    this.#child.send(options, server);
    server.close();
  }

  /** The next message of this kind. */
  heard(kind: string): Promise<Record<string, unknown>> {
    const index = this.#messages.findIndex((message) => message.kind === kind);
    if (index >= 0) return Promise.resolve(this.#messages.splice(index, 1)[0]!);
    return new Promise((resolve) => this.#waiting.push({ want: kind, resolve }));
  }

  tell(kind: string): void {
    this.#child.send({ kind });
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill(signal);
    await this.exited;
  }

  #take(message: Record<string, unknown>): void {
    const index = this.#waiting.findIndex(({ want }) => want === message.kind);
    if (index < 0) this.#messages.push(message);
    else this.#waiting.splice(index, 1)[0]!.resolve(message);
  }
}
