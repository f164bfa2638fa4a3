import { type ChildProcess, fork, type SpawnOptions } from 'node:child_process';
import type { Server } from 'node:net';
import { fileURLToPath } from 'node:url';
import { PendingCalls, within } from '@rdmc/common';
import { descriptorOf } from '@rdmc/testing/members';
import { type Named, WatchedProcess } from '@rdmc/testing/watched-process';
import type { MemberEvent, RemoteError } from './member-types.js';
import { patient } from './patience.js';

/** Found from `src`, and from `dist`, where the tests on RDMA devices are. */
const script = fileURLToPath(new URL('../src/member.mjs', import.meta.url));
/** Only for a test that hangs: tests also run on busy machines. */
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

/** Signals that end a member. */
const ENDING: readonly NodeJS.Signals[] = ['SIGKILL', 'SIGTERM', 'SIGINT'];

/** Milliseconds of the machine's monotonic clock, which all its processes share. */
export function now(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** What a member answers to a call, or an event: the messages of a member. */
interface Answer {
  readonly event?: undefined;
  readonly call: number;
  readonly value?: unknown;
  readonly error?: RemoteError;
  readonly at: number;
}

/** A member in its own process. Every wait has a deadline whose error names the awaited event. */
export class MemberProcess extends WatchedProcess<MemberEvent, 'event'> {
  /** Abstract sockets it listened on. */
  sockets: readonly string[] = [];
  readonly #calls = new PendingCalls();
  #killed = false;

  constructor(
    readonly id: number,
    server: Server | undefined,
    /** For a member that is not a plain child of this process, such as one in another network namespace. */
    start?: StartMember,
  ) {
    const inherited = server ? [descriptorOf(server)] : [];
    const stdio: SpawnOptions['stdio'] = ['ignore', 'inherit', 'pipe', 'ipc', ...inherited];
    const child = start ? start(process.execPath, [script], { stdio }) : fork(script, [], { stdio });
    server?.close();
    super(child, 'event', {
      name: `member ${id}`,
      isEvent: ({ event }) => event !== undefined,
    });
    child.on('message', (message: Answer | MemberEvent) => {
      if (message.event === undefined) this.#answered(message);
    });
    void this.exited.then(() => this.#calls.end(new Error(this.report())));
  }

  /** It was told to end. The others may detect its death before this process does. */
  get killed(): boolean {
    return this.#killed;
  }

  get alive(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** @throws CallError with the member's error; Error at the deadline, or when the process ends first */
  call<T = unknown>(op: string, args: object = {}, deadlineMs = DEADLINE_MS): Promise<T> {
    const answered = this.#calls.start(undefined, (call) => {
      this.child.send({ call, op, args }, (error) => error && this.#calls.reject(call, error));
    });
    const timeoutMs = patient(deadlineMs);
    const late = (): Error =>
      new Error(`'${op}' ${JSON.stringify(args)} had no answer within ${timeoutMs} ms: ${this.report()}`);
    return within(answered as Promise<T>, { timeoutMs, late });
  }

  /** The first event of that name, past or to come, that `fits` accepts. */
  override event<Name extends MemberEvent['event']>(
    name: Name,
    fits?: (event: Named<MemberEvent, 'event', Name>) => boolean,
    deadlineMs = DEADLINE_MS,
  ): Promise<Named<MemberEvent, 'event', Name>> {
    return super.event(name, fits, patient(deadlineMs));
  }

  /** Events of that name so far, of one group. */
  messages(group: number): Extract<MemberEvent, { event: 'message' }>[] {
    return this.named('message').filter((event) => event.group === group);
  }

  /** Sends a signal to this one process. Returns when, on the clock of `now`. */
  override signal(signal: NodeJS.Signals): number {
    const at = now();
    super.signal(signal);
    if (ENDING.includes(signal)) this.#killed = true;
    return at;
  }

  #answered({ call, value, error, at }: Answer): void {
    if (error) this.#calls.reject(call, new CallError(this.id, error, at));
    else this.#calls.resolve(call, value);
  }
}
