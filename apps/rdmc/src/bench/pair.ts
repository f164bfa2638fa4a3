import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { onAbort } from '@rdmc/common';
import type { QueuePairAddress } from '@rdmc/verbs';
import { type RemoteMemory, remoteKey } from '@rdmc/verbs';
import { afterCauseGrace } from '../cluster/cause-grace.js';
import { CliError, exitCodeOf } from '../errors.js';
import { ExitCode } from '../exit-codes.js';
import { Endpoint } from './endpoint.js';
import { type PairCommand, type PairReport, type PairReportOf, pairReport } from './pair-messages.js';
import type { BenchDevice } from './route.js';

const PEER_SCRIPT = fileURLToPath(new URL('./bench-peer.js', import.meta.url));

interface Waiting {
  readonly type: PairReport['type'];
  resolve(report: PairReport): void;
  reject(error: unknown): void;
}

/** Two connected endpoints: that of this process, and that of a child, which ends with this process. */
export class Pair {
  readonly #waiting = new Set<Waiting>();
  #failure: CliError | undefined;
  #onFailure: () => void = () => {};
  #closing = false;
  #remote: RemoteMemory = { address: 0, rkey: remoteKey(0) };

  private constructor(
    readonly endpoint: Endpoint,
    private readonly child: ChildProcess,
    signal: AbortSignal,
  ) {
    child.on('message', (message) => this.#take(pairReport.parse(message)));
    child.on('exit', (code, killedBy) => this.#ended(code, killedBy));
    onAbort(signal, () => this.#fail(signal.reason));
  }

  static async open(wanted: BenchDevice, signal: AbortSignal): Promise<Pair> {
    signal.throwIfAborted();
    const endpoint = await Endpoint.open(wanted);
    const child = fork(PEER_SCRIPT, [wanted.device, wanted.transport], {
      detached: true,
      execArgv: [],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const pair = new Pair(endpoint, child, signal);
    try {
      await pair.#connect();
      return pair;
    } catch (error) {
      const cause = await pair.causeOf(error);
      await pair.close();
      throw cause;
    }
  }

  /** The other side's region. */
  get remote(): RemoteMemory {
    return this.#remote;
  }

  command(command: PairCommand): void {
    if (this.child.connected) this.child.send(command, () => {});
  }

  next<Type extends PairReport['type']>(type: Type): Promise<PairReportOf<Type>> {
    return new Promise((resolve, reject) => {
      if (this.#failure) reject(this.#failure);
      else this.#waiting.add({ type, resolve: resolve as Waiting['resolve'], reject });
    });
  }

  async close(): Promise<void> {
    this.#closing = true;
    const { child } = this;
    if (child.exitCode === null && child.signalCode === null) {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGKILL');
      await ended;
    }
    await this.endpoint.device.close();
  }

  async #connect(): Promise<void> {
    const { address, remote } = await this.next('ready');
    this.#remote = remote;
    const connected = this.next('connected');
    const { queuePair } = this.endpoint;
    this.command({ type: 'connect', address: queuePair.address });
    await Promise.all([connected, queuePair.connect(address as QueuePairAddress, { rnrTimerMs: 1 })]);
  }

  #take(report: PairReport): void {
    if (report.type === 'failed') {
      const { code, message } = report;
      this.#fail(new CliError(code, `the other process: ${message}`, { exitCode: exitCodeOf({ code }) }));
      return;
    }
    for (const waiting of this.#waiting) {
      if (waiting.type !== report.type) continue;
      this.#waiting.delete(waiting);
      waiting.resolve(report);
    }
  }

  #ended(code: number | null, killedBy: NodeJS.Signals | null): void {
    if (this.#closing) return;
    const how = killedBy ? `was killed by ${killedBy}` : `ended with exit code ${code}`;
    const who = `the other process (pid ${this.child.pid ?? 'none'})`;
    this.#fail(new CliError('ERR_RDMC_MEMBER_LOST', `${who} ${how}`, { exitCode: ExitCode.MEMBER_LOST }));
  }

  #fail(error: CliError): void {
    this.#failure ??= error;
    for (const { reject } of this.#waiting) reject(this.#failure);
    this.#waiting.clear();
    this.#onFailure();
  }

  /** Finds the cause of an error of this side: a broken connection is seen before the exit of the other process. */
  causeOf(error: unknown): Promise<unknown> {
    return new Promise((resolve) => {
      const settle = (): void => resolve(this.#failure ?? error);
      if (this.#failure) {
        settle();
        return;
      }
      const release = afterCauseGrace(settle);
      this.#onFailure = () => {
        release();
        settle();
      };
    });
  }

  /** @throws CliError of the failure, if there was one */
  check(): void {
    if (this.#failure) throw this.#failure;
  }
}
