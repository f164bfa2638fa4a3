import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Writable } from 'node:stream';
import { Deadline } from '@rdmc/common';
import { SHOWN_CONSOLE_LINES } from './constants.js';
import { EMULATOR, emulatorArguments } from './emulator.js';
import { AbortError, RoceVmError } from './errors.js';
import { jobArchive } from './job.js';
import type { Kernel } from './kernel.js';
import type { Settings } from './options.js';
import { Ports } from './ports.js';
import { makeRunDirectory } from './run-directory.js';

/** The end of the guest's side, as far as it was reported. */
interface Told {
  exitCode?: number;
  failure?: string;
}

/** One run of the emulator, with its directory of sockets, archive and console. */
export class Machine {
  readonly #told: Told = {};
  readonly #removeAtExit = () => this.#remove();
  #child: ChildProcess | undefined;
  #ended: string | undefined;
  #stderr = '';

  private constructor(
    private readonly settings: Settings,
    private readonly directory: string,
    private readonly interactive: boolean,
  ) {
    process.once('exit', this.#removeAtExit);
  }

  /** Runs the settings' command in a new machine and resolves with its exit code. */
  static async run(settings: Settings, kernel: Kernel, interactive = false): Promise<number> {
    const machine = new Machine(settings, makeRunDirectory(), interactive);
    try {
      return await machine.#run(kernel);
    } finally {
      machine.#remove();
      process.removeListener('exit', machine.#removeAtExit);
    }
  }

  async #run(kernel: Kernel): Promise<number> {
    const { settings, directory, interactive } = this;
    writeFileSync(join(directory, 'initrd'), readFileSync(kernel.bootArchive));
    writeFileSync(join(directory, 'initrd'), jobArchive(settings, kernel, interactive), { flag: 'a' });
    const ports = await Ports.open(directory);
    // The emulator ends with this process, even if that is killed.
    const words = [
      '--pdeathsig',
      'KILL',
      EMULATOR,
      ...emulatorArguments(settings, kernel, directory, interactive),
    ];
    const console = interactive ? 'inherit' : 'ignore';
    this.#child = spawn('setpriv', words, { stdio: [console, interactive ? 'inherit' : 'ignore', 'pipe'] });
    this.#child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text;
    });
    const closed = once(this.#child, 'close');
    const limits = this.#limit();
    try {
      const told = this.#listen(ports);
      const connected = Promise.all([told, this.#pass(ports, 'stdout'), this.#pass(ports, 'stderr')]);
      await closed;
      // A machine that never connected leaves them waiting; one that did has ended its streams.
      ports.close();
      await Promise.race([connected, this.#connectionsMissing(ports)]);
      return this.#result();
    } finally {
      limits();
      ports.close();
    }
  }

  /** Watches the time limit and the caller's signal; returns a function that stops watching. */
  #limit(): () => void {
    const { timeoutSeconds, signal } = this.settings;
    const end = (why: string) => {
      this.#ended ??= why;
      this.#child?.kill('SIGKILL');
    };
    const limits = { timeoutMs: timeoutSeconds * 1000, signal };
    const deadline = new Deadline(limits, () => end(signal?.aborted ? 'aborted' : 'timeout'));
    return () => deadline.clear();
  }

  async #listen(ports: Ports): Promise<void> {
    for await (const line of createInterface({ input: await ports.socket('status') })) {
      const code = /^RC=(\d+)$/.exec(line)?.[1];
      if (code !== undefined) this.#told.exitCode = Number(code);
      else if (line.startsWith('failed ')) this.#told.failure = line.slice('failed '.length);
    }
  }

  async #pass(ports: Ports, name: 'stdout' | 'stderr'): Promise<void> {
    const socket = await ports.socket(name);
    const target: Writable = this.settings[name];
    for await (const bytes of socket) {
      if (!target.write(bytes)) await once(target, 'drain');
    }
  }

  /** Resolves when a connection is missing and cannot arrive any longer. */
  async #connectionsMissing(ports: Ports): Promise<void> {
    const all = Promise.all([ports.socket('stdout'), ports.socket('stderr'), ports.socket('status')]);
    const turn = new Promise<'no'>((resolve) => setImmediate(() => resolve('no')));
    const here = await Promise.race([all, turn]);
    if (here !== 'no') await new Promise(() => {});
  }

  #result(): number {
    const { exitCode, failure } = this.#told;
    if (this.#ended === 'timeout') {
      const limit = `the time limit of ${this.settings.timeoutSeconds} s`;
      throw new RoceVmError('ERR_RDMC_ROCE_VM_TIMEOUT', `the machine was ended at ${limit}${this.#shown()}`);
    }
    if (this.#ended) throw new AbortError('the machine', this.settings.signal!);
    if (failure)
      throw new RoceVmError('ERR_RDMC_ROCE_VM_START_FAILED', `the machine did not start: ${failure}`);
    if (exitCode !== undefined) return exitCode;
    const how = this.#child?.exitCode ?? this.#child?.signalCode;
    const message = `the machine ended without a result (${EMULATOR}: ${how}) ${this.#stderr.trim()}${this.#shown()}`;
    throw new RoceVmError('ERR_RDMC_ROCE_VM_NO_RESULT', message);
  }

  #shown(): string {
    if (this.interactive) return '';
    try {
      const lines = readFileSync(join(this.directory, 'console'), 'utf8').trim().split('\n');
      return lines[0] === '' ? '' : `; its console:\n${lines.slice(-SHOWN_CONSOLE_LINES).join('\n')}`;
    } catch {
      return '';
    }
  }

  #remove(): void {
    if (this.#child?.exitCode === null && this.#child.signalCode === null) this.#child.kill('SIGKILL');
    rmSync(this.directory, { recursive: true, force: true });
  }
}
