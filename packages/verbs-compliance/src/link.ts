import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { PendingCalls } from '@rdmc/common';
import { Agent, type CallArguments, type CallName, type CallResult } from './agent/agent.js';
import { ComplianceError, type ErrorRecord, PeerError } from './errors.js';

/** How a peer ended. */
export interface PeerExit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** The link to one agent. */
export interface Link {
  /** Process id of the peer, if it has a process of its own. */
  readonly pid: number | undefined;
  call<N extends CallName>(name: N, args: CallArguments<N>): Promise<CallResult<N>>;
  /** Resolves when the peer's thread or process has ended. */
  readonly exited: Promise<PeerExit>;
  /** Kills the peer; idempotent. */
  stop(): Promise<PeerExit>;
}

interface Answer {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: ErrorRecord;
}

function settle(pending: PendingCalls, { id, value, error }: Answer): void {
  if (error) pending.reject(id, new PeerError(error));
  else pending.resolve(id, value);
}

function gone({ code, signal }: PeerExit): ComplianceError {
  const how = `code ${code}, signal ${signal}`;
  return new ComplianceError('ERR_RDMC_COMPLIANCE_PEER_GONE', `The peer has ended (${how})`);
}

/** The agent's built entry, beside this file once built. */
const ENTRY = new URL('./agent-main.js', import.meta.url);

/** A peer in the test's own thread. */
export async function inThisThread(): Promise<Link> {
  const agent = new Agent();
  const exit: PeerExit = { code: 0, signal: null };
  let end!: (exit: PeerExit) => void;
  const exited = new Promise<PeerExit>((resolve) => {
    end = resolve;
  });
  return {
    pid: undefined,
    call: (name, args) => agent.handle(name, args),
    exited,
    async stop() {
      await agent.handle('reset', { keep: [] });
      end(exit);
      return exit;
    },
  };
}

/** A peer in a worker thread of the test's process. */
export async function inWorker(): Promise<Link> {
  const worker = new Worker(ENTRY, { execArgv: [] });
  const pending = new PendingCalls();
  worker.on('message', (answer: Answer) => settle(pending, answer));
  const exited = new Promise<PeerExit>((resolve) => {
    worker.once('error', () => undefined);
    worker.once('exit', (code) => {
      const exit = { code, signal: null };
      pending.end(gone(exit));
      resolve(exit);
    });
  });
  return {
    pid: undefined,
    call: (name, args) => pending.start(undefined, (id) => worker.postMessage({ id, name, args })) as never,
    exited,
    async stop() {
      await worker.terminate();
      return exited;
    },
  };
}

/** A peer in a process of its own. */
export async function inProcess(): Promise<Link> {
  const child = fork(fileURLToPath(ENTRY), [], { serialization: 'advanced', execArgv: [] });
  const pending = new PendingCalls();
  child.on('message', (answer) => settle(pending, answer as Answer));
  const exited = new Promise<PeerExit>((resolve) => {
    child.once('exit', (code, signal) => {
      const exit = { code, signal };
      pending.end(gone(exit));
      resolve(exit);
    });
  });
  return {
    pid: child.pid,
    // A child that is exiting refuses messages; its exit fails the call.
    call: (name, args) =>
      pending.start(undefined, (id) => child.send({ id, name, args } as never, () => undefined)) as never,
    exited,
    stop() {
      child.kill('SIGKILL');
      return exited;
    },
  };
}
