import { join } from 'node:path';
import { onAbort } from '@rdmc/common';
import { TraceFile } from '@rdmc/dataplane/trace';
import { type Algorithm, type Group, type MemoryRegion, RdmcNode } from '@rdmc/group';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { codeOf } from '../errors.js';
import { FirstFailure, reportedFailure, silentEnd } from './failure.js';
import { MemberProcess } from './member-process.js';
import type { ReportOf } from './messages.js';

export interface LocalClusterOptions {
  /** All members, the root included. */
  readonly members: number;
  readonly device: string;
  readonly transport: 'auto' | 'shm' | 'tcp';
  /** Bits per second of each direction of each member's link, over TCP; without it as fast as the machine. */
  readonly linkRate?: number | undefined;
  /** Folders that the receivers remove if this process is killed. */
  readonly folders: readonly string[];
  /** A folder for the traces of all members; default: no trace. */
  readonly traces?: string | undefined;
  /** Aborting it ends everything. */
  readonly signal: AbortSignal;
}

export interface GroupPlan {
  readonly id: number;
  readonly algorithm: Algorithm;
  readonly blockBytes: 'auto' | number;
  /** Number of receivers, the first ones (default: all). */
  readonly receivers?: number;
  /** Number of messages in one call of `multicast`. */
  readonly burst: number;
  /** Whether receivers report progress. */
  readonly progress: boolean;
}

/** When the receivers' applications had a message, in seconds since the call of `send`. */
export interface Reception {
  /** The last one. */
  readonly seconds: number;
  readonly firstSeconds: number;
  /** The member that was last. */
  readonly last: number;
}

/** Limit for leaving without a failure. */
const LEAVE_TIMEOUT_MS = 30_000;

/**
 * A root in this process and receivers in child processes. Every wait ends when one of them fails, with an error that
 * names it.
 */
export class LocalCluster {
  readonly #firstFailure = new FirstFailure();
  readonly #end = new AbortController();
  /** Ends pending calls of this process: on an interrupt, and when the cluster is stopped. */
  readonly #signal: AbortSignal;
  readonly #receiversOf = new Map<Group, readonly MemberProcess[]>();
  #leaving = false;
  #node: RdmcNode | undefined;
  #trace: TraceFile | undefined;
  /** This process's port, until the mesh owns it. */
  #server: { close(): void } | undefined;

  private constructor(
    private readonly options: LocalClusterOptions,
    readonly receivers: readonly MemberProcess[],
  ) {
    this.#signal = AbortSignal.any([options.signal, this.#end.signal]);
    for (const receiver of receivers) this.#watch(receiver);
    onAbort(options.signal, () => this.#firstFailure.report(options.signal.reason));
  }

  /** Starts the processes; call `join` next. They end with this process, or by `stop`. */
  static start(options: LocalClusterOptions): LocalCluster {
    options.signal.throwIfAborted();
    const ids = Array.from({ length: options.members - 1 }, (_, i) => i + 1);
    return new LocalCluster(
      options,
      ids.map((id) => new MemberProcess(id, options.folders)),
    );
  }

  get node(): RdmcNode {
    return this.#node!;
  }

  /** Waits for something, or for the first failure. */
  async guard<Result>(work: Promise<Result>): Promise<Result> {
    return Promise.race([this.#firstFailure.failure, this.#explained(work)]);
  }

  /** Exchanges the ports, and lets all members join. */
  async join(): Promise<void> {
    const { device, transport, linkRate } = this.options;
    const wanted = { device, transport, ...(linkRate && { linkRate }) };
    const signal = this.#signal;
    const [own] = await reserveLoopbackPorts(1);
    this.#server = own!.server;
    const ports = await this.guard(Promise.all(this.receivers.map(({ listening }) => listening)));
    const members = [own!.port, ...ports].map((port, id) => ({ id, host: '127.0.0.1', port }));
    const joined = this.receivers.map((receiver) => receiver.next('joined'));
    for (const receiver of this.receivers) {
      const trace = this.#traceOf(receiver.id);
      receiver.command({ type: 'join', id: receiver.id, members, ...wanted, trace });
    }
    const { server } = own!;
    const file = this.#traceOf(0);
    if (file !== undefined) this.#trace = await this.guard(TraceFile.create(file));
    const node = RdmcNode.join({ id: 0, members, server, signal, device: wanted, trace: this.#trace });
    node.then(
      (joinedNode) => {
        this.#node = joinedNode;
        this.#server = undefined;
      },
      () => {},
    );
    await this.guard(Promise.all([node, ...joined]));
  }

  /** Creates a group of all members, or of the first ones, with this process as its root. */
  async open({
    id,
    algorithm,
    blockBytes,
    receivers,
    burst: reportEvery,
    progress,
  }: GroupPlan): Promise<Group> {
    const joining = this.receivers.slice(0, receivers);
    const members = [0, ...joining.map((receiver) => receiver.id)];
    const opened = joining.map((receiver) => receiver.next('opened', ({ group }) => group === id));
    for (const receiver of joining) {
      receiver.command({ type: 'open', group: id, members, algorithm, blockBytes, reportEvery, progress });
    }
    const signal = this.#signal;
    const group = this.node.createGroup({ id, members, algorithm, blockBytes, signal });
    const [root] = await this.guard(Promise.all([group, ...opened]));
    this.#receiversOf.set(root, joining);
    onAbort(root.signal, () => this.#groupEnded(root));
    return root;
  }

  /** The processes that receive the messages of a group. */
  receiversOf(group: Group): readonly MemberProcess[] {
    return this.#receiversOf.get(group)!;
  }

  /** Sends a message `burst` times. Resolves when all receivers' applications have the last one. */
  async multicast(group: Group, region: MemoryRegion, byteLength: number, burst = 1): Promise<Reception> {
    const received = this.receiversOf(group).map((receiver) => receiver.next('received', this.#of(group)));
    const start = process.hrtime.bigint();
    const sent = Array.from({ length: burst }, () => group.send({ region, byteLength }));
    const reports = await this.guard(Promise.all([Promise.all(received), ...sent]));
    const ends = reports[0].map(({ at }) => Number(BigInt(at) - start) / 1e9);
    const seconds = Math.max(...ends);
    const last = this.receiversOf(group)[ends.indexOf(seconds)]!.id;
    return { seconds, firstSeconds: Math.min(...ends), last };
  }

  /** Closes all groups, which proves that all messages were delivered, and ends the processes. */
  async leave(groups: readonly Group[]): Promise<void> {
    this.#leaving = true;
    const left = this.receivers.map((receiver) => receiver.next('left'));
    for (const receiver of this.receivers) receiver.command({ type: 'leave' });
    const closed = groups.map((group) => group.close({ timeoutMs: LEAVE_TIMEOUT_MS }));
    await this.guard(Promise.all([...closed, ...left]));
    await this.node.close();
    await this.#trace?.close();
    await this.guard(Promise.all(this.receivers.map(({ ended }) => ended)));
  }

  /** Kills the processes. Resolves when they have ended. */
  async stop(): Promise<void> {
    this.#leaving = true;
    this.#firstFailure.close();
    this.#end.abort();
    for (const receiver of this.receivers) receiver.kill();
    await Promise.all(this.receivers.map(({ ended }) => ended));
    this.#server?.close();
    await this.#node?.close();
    await this.#trace?.close();
  }

  /** The traces of all members, whole after `leave`. */
  get traces(): readonly string[] {
    return [0, ...this.receivers.map(({ id }) => id)].flatMap((id) => this.#traceOf(id) ?? []);
  }

  /** For the 'exit' event of this process, where nothing can be awaited. */
  killAll(): void {
    for (const receiver of this.receivers) receiver.kill();
  }

  #traceOf(member: number): string | undefined {
    const { traces } = this.options;
    return traces === undefined ? undefined : join(traces, `member-${member}.trace`);
  }

  #of(group: Group) {
    return (report: ReportOf<'received'>): boolean => report.group === group.id;
  }

  #watch(receiver: MemberProcess): void {
    const who = `member ${receiver.id} (pid ${receiver.pid ?? 'none'})`;
    let hasReported = false;
    receiver.onReport((report) => {
      if (report.type !== 'failed') return;
      hasReported = true;
      this.#firstFailure.report(reportedFailure(who, report.code, report.message));
    });
    receiver.ended.then((ending) => {
      if (hasReported || (this.#leaving && ending.exitCode === 0)) return;
      this.#firstFailure.report(silentEnd(who, ending));
    });
  }

  /** Reports the failure of a group. One that was closed has ended without a failure. */
  #groupEnded(group: Group): void {
    const { reason } = group.signal;
    if (codeOf(reason) !== 'ERR_RDMC_GROUP_CLOSED') this.#firstFailure.report(reason);
  }

  /** An error of this process may be the consequence of a member's failure: then rejects with that. */
  async #explained<Result>(work: Promise<Result>): Promise<Result> {
    try {
      return await work;
    } catch (error) {
      this.#firstFailure.report(error);
      return this.#firstFailure.failure;
    }
  }
}
