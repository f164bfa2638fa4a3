import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { settledWithin } from '@rdmc/common';
import { CliError, systemReason } from '../errors.js';
import { ExitCode } from '../exit-codes.js';
import { endGroup, signalGroup } from '../process-group.js';
import { type ReceiveEvent, type ReceiveEventOf, receiveEvent } from '../receive/events.js';
import { printable } from '../ui/printable.js';
import type { Instructions } from './instructions.js';

/** How long a receiver may take to end by itself before it gets SIGTERM; then before SIGKILL. */
const END_GRACE_MS = 5000;
const KILL_GRACE_MS = 2000;
/** Lines of stderr that are kept, to be quoted when the start fails. */
const KEPT_LINES = 6;

export interface ReceiveProcessOptions {
  /** The host, for messages. */
  readonly name: string;
  /** Program and arguments. */
  readonly argv: readonly string[];
  readonly instructions: Instructions;
  /** How long it may take to listen, in milliseconds. */
  readonly timeoutMs: number;
  /** Called with each line of text that it prints. */
  onText(line: string): void;
  onEvent?(event: ReceiveEvent): void;
}

const BY_HAND = 'try the same by hand; --remote-shell, --remote-command and --remote-dir change the command';
/** What helps where the receiver itself says why it does not start. */
const ADVICE: Readonly<Record<string, string>> = {
  ERR_RDMC_NOT_FOUND: 'add --mkdir to make the directory, or give another one with --remote-dir',
  ERR_RDMC_NOT_A_DIRECTORY: 'give another directory with --remote-dir',
  ERR_RDMC_READ_ONLY: 'give another directory with --remote-dir',
  ERR_RDMC_PERMISSION: 'give another directory with --remote-dir',
};

function startError(name: string, what: string, advice = BY_HAND): CliError {
  return new CliError('ERR_RDMC_REMOTE_START', `${name}: ${what}`, {
    exitCode: ExitCode.MEMBER_LOST,
    advice,
  });
}

interface RemoteError {
  readonly code: string;
  readonly message: string;
}

/** An error that `rdmc receive` prints as its last line with `--json`. */
function errorIn(document: unknown): RemoteError | undefined {
  const error = (document as { error?: { code?: unknown; message?: unknown } } | null)?.error;
  return error ? { code: String(error.code), message: String(error.message) } : undefined;
}

/**
 * `rdmc receive --controlled` on another host, at the other end of a remote shell. It ends when its stdin does, so it
 * ends with this process in any case.
 */
export class ReceiveProcess {
  readonly listening: Promise<ReceiveEventOf<'listening'>>;
  /** Resolves when the remote shell has ended. */
  readonly ended: Promise<void>;
  readonly #child: ChildProcess;
  readonly #options: ReceiveProcessOptions;
  readonly #words: string[] = [];
  #error: RemoteError | undefined;
  #exit = '';
  #over = false;

  constructor(options: ReceiveProcessOptions) {
    const [program, ...args] = options.argv;
    this.#options = options;
    // A separate process group: Ctrl-C reaches only this process, which then ends the receivers in order.
    this.#child = spawn(program!, args, { stdio: ['pipe', 'pipe', 'pipe'], detached: true });
    this.ended = this.#watchEnd();
    this.listening = this.#watchStart();
    this.listening.catch(() => {});
    this.#readText();
    // Where the remote shell ends before it has read this, its exit is reported.
    this.#child.stdin!.on('error', () => {});
    this.#child.stdin!.write(`${JSON.stringify(options.instructions)}\n`);
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Ends the receiver: by the end of its stdin, and if it still runs, by signals. */
  async close(): Promise<void> {
    this.#child.stdin!.end();
    if (await settledWithin(this.ended, END_GRACE_MS)) return;
    await endGroup(this.#child, this.ended, KILL_GRACE_MS);
  }

  /** Sends a signal immediately; also usable while this process exits. */
  kill(signal: NodeJS.Signals): void {
    if (!this.#over) signalGroup(this.#child, signal);
  }

  #watchEnd(): Promise<void> {
    return new Promise((resolve) => {
      const over = (how: string): void => {
        this.#over = true;
        this.#exit = how;
        resolve();
      };
      this.#child.once('error', (error) =>
        over(`cannot run ${this.#options.argv[0]}: ${systemReason(error)}`),
      );
      this.#child.once('close', (code, signal) => {
        over(
          signal
            ? `${this.#options.argv[0]} was ended by ${signal}`
            : `${this.#options.argv[0]} ended with ${code}`,
        );
      });
    });
  }

  #watchStart(): Promise<ReceiveEventOf<'listening'>> {
    const { name, timeoutMs } = this.#options;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(startError(name, this.#quoted(`no receiver listened within ${timeoutMs / 1000} s`)));
        this.kill('SIGTERM');
      }, timeoutMs);
      this.#readEvents((event) => {
        clearTimeout(timer);
        resolve(event);
      });
      void this.ended.then(() => {
        clearTimeout(timer);
        reject(startError(name, this.#quoted(this.#exit), ADVICE[this.#error?.code ?? '']));
      });
    });
  }

  /** Describes the failure with the text of the remote end. */
  #quoted(what: string): string {
    const words = this.#error ? `${this.#error.code}: ${this.#error.message}` : this.#words.join('; ');
    return words === '' ? what : `${words} (${what})`;
  }

  #readEvents(onListening: (event: ReceiveEventOf<'listening'>) => void): void {
    createInterface({ input: this.#child.stdout! }).on('line', (line) => {
      let document: unknown;
      try {
        document = JSON.parse(line);
      } catch {
        // Text of the login shell.
        return this.#say(line);
      }
      this.#error ??= errorIn(document);
      const event = receiveEvent.safeParse(document);
      if (!event.success) return;
      if (event.data.event === 'listening') onListening(event.data);
      this.#options.onEvent?.(event.data);
    });
  }

  #readText(): void {
    createInterface({ input: this.#child.stderr! }).on('line', (line) => this.#say(line));
  }

  #say(line: string): void {
    const text = printable(line.trimEnd());
    if (text === '') return;
    this.#words.push(text);
    if (this.#words.length > KEPT_LINES) this.#words.shift();
    this.#options.onText(text);
  }
}
