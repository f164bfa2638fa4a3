import { type ChildProcess, fork } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { type Order, type Report, type ReportOf, report } from './messages.js';

const MEMBER_SCRIPT = fileURLToPath(new URL('./member.js', import.meta.url));
const KEPT_STDERR_CHARACTERS = 4000;

/** How a process ended. */
export interface Ending {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** What it wrote to stderr last. */
  readonly stderr: string;
}

/**
 * One receiver's process, in a session of its own: Ctrl-C at the terminal reaches the command only, which then
 * ends all of them in order.
 */
export class MemberProcess {
  readonly #child: ChildProcess;
  readonly #reports = new EventEmitter();
  #stderr = '';
  /** The port it listens at. Taken down whenever it comes: perhaps long before anybody asks. */
  readonly listening: Promise<number>;
  /** Resolves when the process is gone. Never rejects. */
  readonly ended: Promise<Ending>;

  constructor(
    readonly id: number,
    script = MEMBER_SCRIPT,
  ) {
    this.#child = fork(script, [], {
      detached: true,
      execArgv: [],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    this.#reports.setMaxListeners(0);
    this.#child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-KEPT_STDERR_CHARACTERS);
    });
    this.listening = this.next('listening').then(({ port }) => port);
    this.#child.on('message', (message) => this.#take(message));
    this.ended = this.#watchEnd();
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Sends an order; one to a process that is gone is dropped, since its end is reported anyway. */
  order(order: Order): void {
    if (this.#child.connected) this.#child.send(order, () => {});
  }

  onReport(listener: (report: Report) => void): void {
    this.#reports.on('report', listener);
  }

  /** The next report of that type that also fits. */
  next<Type extends Report['type']>(
    type: Type,
    fits: (report: ReportOf<Type>) => boolean = () => true,
  ): Promise<ReportOf<Type>> {
    return new Promise((resolve) => {
      const listener = (given: Report): void => {
        if (given.type !== type || !fits(given as ReportOf<Type>)) return;
        this.#reports.off('report', listener);
        resolve(given as ReportOf<Type>);
      };
      this.#reports.on('report', listener);
    });
  }

  /** Ends it at once, whatever it does, stopped ones included. */
  kill(): void {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill('SIGKILL');
  }

  #take(message: unknown): void {
    this.#reports.emit('report', report.parse(message));
  }

  async #watchEnd(): Promise<Ending> {
    // `close` comes after the last report and the last of stderr; `error` when it could not be started.
    const end = await Promise.race([
      once(this.#child, 'close'),
      once(this.#child, 'error').then(([error]: Error[]) => [null, null, error!.message] as const),
    ]);
    const [exitCode, signal, problem] = end as [number | null, NodeJS.Signals | null, string?];
    return { exitCode, signal, stderr: problem ?? this.#stderr.trim() };
  }
}
