import { PreparedWorker } from '@rdmc/dataplane';
import type { AnyProtocol, Protocols } from './node-protocol.js';

/** A protocol of one node. */
export interface Running {
  readonly key: string;
  readonly protocol: AnyProtocol;
  readonly data: unknown;
}

export function runningOf(protocols: Protocols): Running[] {
  return Object.entries(protocols).map(([key, protocol]) => ({ key, protocol, data: protocol.data?.() }));
}

/** The protocols that run in the node's worker. */
export function modulesOf(running: readonly Running[]): { name: string; module: URL; data: unknown }[] {
  return running.flatMap(({ protocol: { name, worker: module }, data }) =>
    module instanceof URL ? [{ name, module, data }] : [],
  );
}

/**
 * The worker of a later node, which has loaded its protocols already: `Node.prepare` starts it, `Node.join({ prepared })` uses it,
 * once. For programs that join one cluster after the other. While it waits, it uses no processor time and does not keep
 * the process alive.
 */
export class PreparedNode<Set extends Protocols> implements AsyncDisposable {
  /** @internal */
  readonly running: readonly Running[];
  /** @internal */
  readonly worker: PreparedWorker;

  /** @internal */
  constructor(
    /** The protocols of the node. */
    readonly protocols: Set,
    windowMs: number | undefined,
  ) {
    this.running = runningOf(protocols);
    const modules = modulesOf(this.running);
    this.worker = PreparedWorker.start({ protocols: modules, ...(windowMs !== undefined && { windowMs }) });
  }

  /** Whether `Node.join` can use it: no node has it, it is not closed, and its protocols could be loaded so far. */
  get isWaiting(): boolean {
    return this.worker.isWaiting;
  }

  /** Ends the worker, unless a node has it. Idempotent. */
  close(): Promise<void> {
    return this.worker.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
