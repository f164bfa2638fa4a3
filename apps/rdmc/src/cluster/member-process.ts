import { type ChildProcess, fork } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { type Command, type Report, type ReportOf, report } from './messages.js';

const MEMBER_SCRIPT = fileURLToPath(new URL('./member.js', import.meta.url));
const KEPT_STDERR_CHARACTERS = 4000;

/** How a process ended. */
export interface Ending {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The end of its stderr. */
  readonly stderr: string;
}

/**
 * One receiver's process, in a separate session: Ctrl-C at the terminal reaches only the command, which then ends all
 * of them in order.
 */
export class MemberProcess {
  readonly #child: ChildProcess;
  readonly #reports = new EventEmitter();
  #stderr = '';
  /** The port it listens on. Recorded when it is reported, which may be long before a caller needs it. */
  readonly listening: Promise<number>;
  /** Resolves when the process has ended. Never rejects. */
  readonly ended: Promise<Ending>;

  /** @param folders it removes them if this process is killed, also before it has joined */
  constructor(
    readonly id: number,
    folders: readonly string[] = [],
    script = MEMBER_SCRIPT,
  ) {
    this.#child = fork(script, folders, {
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

  /** Sends a command. It is dropped where the process has ended, because that is reported anyway. */
  command(command: Command): void {
    if (this.#child.connected) this.#child.send(command, () => {});
  }

  onReport(listener: (report: Report) => void): void {
    this.#reports.on('report', listener);
  }

  /** The next report of that type that satisfies `fits`. */
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

  /** Kills it, also where it is stopped. */
  kill(): void {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill('SIGKILL');
  }

  #take(message: unknown): void {
    this.#reports.emit('report', report.parse(message));
  }

  async #watchEnd(): Promise<Ending> {
    // `close` comes after the last report and the end of stderr; `error` when the process could not be started.
    const end = await Promise.race([
      once(this.#child, 'close'),
      once(this.#child, 'error').then(([error]: Error[]) => [null, null, error!.message] as const),
    ]);
    const [exitCode, signal, problem] = end as [number | null, NodeJS.Signals | null, string?];
    return { exitCode, signal, stderr: problem ?? this.#stderr.trim() };
  }
}
