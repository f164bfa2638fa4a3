import { type ChildProcess, fork, type SpawnOptions } from 'node:child_process';
import type { Server } from 'node:net';
import { fileURLToPath } from 'node:url';
import { descriptorOf } from '@rdmc/testing/members';
import type { MemberEvent, RemoteError } from './member-types.js';
import { patient } from './patience.js';

/** Found from `src`, and from `dist`, where the tests on RDMA devices are. */
const script = fileURLToPath(new URL('../src/member.mjs', import.meta.url));
const KEPT_STDERR_CHARACTERS = 4000;
const SHOWN_EVENTS = 6;
/** For what hangs only: tests also run on machines that are busy with other things. */
const DEADLINE_MS = 120_000;

/** A call that a member answered with an error; its fields are those of the error over there. */
export class CallError extends Error implements RemoteError {
  readonly code: string | undefined;
  readonly memberId: number | undefined;
  readonly missing: readonly unknown[] | undefined;
  readonly field: string | undefined;
  readonly reason: string | undefined;

  constructor(
    readonly from: number,
    readonly error: RemoteError,
    /** When it was thrown, on the clock of `now`. */
    readonly at: number,
  ) {
    super(`member ${from}: ${error.code ?? error.name}: ${error.message}`);
    this.code = error.code;
    this.memberId = error.memberId;
    this.missing = error.missing;
    this.field = error.field;
    this.reason = error.reason;
  }
}

/** Starts the command of a member; `stdio` has a channel to it. */
export type StartMember = (command: string, args: readonly string[], options: SpawnOptions) => ChildProcess;

interface Pending {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** Signals that end a member. */
const ENDING: readonly NodeJS.Signals[] = ['SIGKILL', 'SIGTERM', 'SIGINT'];

/** Milliseconds of the machine's monotonic clock, which all its processes share. */
export function now(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** A member in a process of its own. Whatever is awaited of it has a deadline whose error says what that was. */
export class MemberProcess {
  readonly events: MemberEvent[] = [];
  /** Resolves with code and signal once the process is gone. */
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  /** Abstract sockets it listened on. */
  sockets: readonly string[] = [];
  stderr = '';
  readonly #child: ChildProcess;
  readonly #pending = new Map<number, Pending>();
  readonly #watchers = new Set<() => void>();
  #calls = 0;
  #gone: string | undefined;
  #killed = false;

  constructor(
    readonly id: number,
    server: Server | undefined,
    /** Where it is not to be a plain child of this process, such as in another network namespace. */
    start?: StartMember,
  ) {
    const inherited = server ? [descriptorOf(server)] : [];
    const stdio: SpawnOptions['stdio'] = ['ignore', 'inherit', 'pipe', 'ipc', ...inherited];
    this.#child = start ? start(process.execPath, [script], { stdio }) : fork(script, [], { stdio });
    server?.close();
    this.#child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.stderr = (this.stderr + text).slice(-KEPT_STDERR_CHARACTERS);
    });
    this.#child.on('message', (message: Record<string, unknown>) => this.#take(message));
    this.exited = new Promise((resolve) => {
      // 'close' follows 'exit' once its output has been read as well.
      this.#child.once('close', (code, signal) => {
        this.#end(`ended with ${code ?? signal}`);
        resolve({ code, signal });
      });
    });
  }

  get pid(): number {
    return this.#child.pid!;
  }

  /** It was told to end. The others may know of its death before this process does. */
  get killed(): boolean {
    return this.#killed;
  }

  get alive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** @throws CallError with what the member threw; Error at the deadline, or when the process ends first */
  call<T = unknown>(op: string, args: object = {}, deadlineMs = DEADLINE_MS): Promise<T> {
    this.#calls += 1;
    const call = this.#calls;
    const answer = new Promise<unknown>((resolve, reject) => {
      if (this.#gone) reject(this.#gap(`'${op}' was asked of it`));
      this.#pending.set(call, { resolve, reject });
      this.#child.send({ call, op, args }, (error) => error && reject(this.#gap(`'${op}' was asked of it`)));
    });
    const bounded = this.#within(answer, `the answer to '${op}' ${JSON.stringify(args)}`, deadlineMs);
    return bounded.finally(() => this.#pending.delete(call)) as Promise<T>;
  }

  /** The first event of that name, past or to come, that `test` accepts. */
  event<E extends MemberEvent['event']>(
    name: E,
    test: (event: Extract<MemberEvent, { event: E }>) => boolean = () => true,
    deadlineMs = DEADLINE_MS,
  ): Promise<Extract<MemberEvent, { event: E }>> {
    type Found = Extract<MemberEvent, { event: E }>;
    let look = (): void => {};
    const found = new Promise<Found>((resolve, reject) => {
      look = () => {
        const event = this.events.find((each) => each.event === name && test(each as Found));
        if (event) resolve(event as Found);
        else if (this.#gone) reject(this.#gap(`its event '${name}' was awaited`));
      };
      this.#watchers.add(look);
      look();
    });
    return this.#within(found, `its event '${name}'`, deadlineMs).finally(() => this.#watchers.delete(look));
  }

  /** Events of that name so far, of one group. */
  messages(group: number): Extract<MemberEvent, { event: 'message' }>[] {
    return this.events.filter((event) => event.event === 'message').filter((event) => event.group === group);
  }

  /** Sends a signal to this one process. Returns when, on the clock of `now`. */
  signal(signal: NodeJS.Signals): number {
    const at = now();
    this.#child.kill(signal);
    if (ENDING.includes(signal)) this.#killed = true;
    return at;
  }

  #take(message: Record<string, unknown>): void {
    if (typeof message.event === 'string') {
      this.events.push(message as unknown as MemberEvent);
      for (const watcher of [...this.#watchers]) watcher();
      return;
    }
    const pending = this.#pending.get(message.call as number);
    if (message.error)
      pending?.reject(new CallError(this.id, message.error as RemoteError, message.at as number));
    else pending?.resolve(message.value);
  }

  #end(how: string): void {
    this.#gone = how;
    for (const { reject } of this.#pending.values()) reject(this.#gap('an answer was awaited'));
    for (const watcher of [...this.#watchers]) watcher();
  }

  #gap(what: string): Error {
    return new Error(`Member ${this.id} (process ${this.pid}) ${this.#gone} while ${what}${this.#shown()}`);
  }

  async #within<T>(promise: Promise<T>, what: string, deadlineMs: number): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        const who = `Member ${this.id} (process ${this.pid})`;
        reject(new Error(`${who}: ${what} did not come within ${patient(deadlineMs)} ms${this.#shown()}`));
      }, patient(deadlineMs));
    });
    return Promise.race([promise, late]).finally(() => clearTimeout(timer));
  }

  #shown(): string {
    const events = this.events.slice(-SHOWN_EVENTS).map((event) => JSON.stringify(event));
    return `; its last events: ${events.join(' ') || 'none'}; its error output: ${this.stderr || 'none'}`;
  }
}
