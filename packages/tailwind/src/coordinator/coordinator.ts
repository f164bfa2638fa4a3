import { setTimeout as delay } from 'node:timers/promises';
import { Lifetime, SerialQueue, type Subscription } from '@rdmc/common';
import { readShape } from '@rdmc/common/shapes';
import type { MemberEvent, Mesh } from '@rdmc/mesh';
import { bootClock, type Clock } from '../clock.js';
import {
  DEFAULT_LEASE_MARGIN_MS,
  DEFAULT_LEASE_MS,
  LEASE_POLL_MS,
  MAX_LEASE_MARGIN_MS,
  MAX_LEASE_MS,
} from '../constants.js';
import { codeOf, messageOf, TailwindError } from '../errors.js';
import { integerOption, type Logger, onlyKnownOptions } from '../options.js';
import { readRequest } from '../rpc/read-request.js';
import { FOLLOWED_TOPIC, LEAD_TOPIC, LeadView, leadMessage } from './lead-view.js';
import { encodeLogRecord, type LogRecord } from './log-record.js';
import { LogRegistry } from './log-registry.js';
import { requireLive } from './log-rules.js';
import { COORDINATOR_TOPIC, type CoordinatorRequest, coordinatorRequest } from './messages.js';
import { type OwnerProcess, processOf } from './owner-process.js';
import type { StateStore } from './state-store.js';
import { CoordinatorChannel } from './term-channel.js';

/** The options of `Coordinator.open`. */
export interface CoordinatorOptions {
  /** Its requests come over this mesh; `close()` does not close it. */
  readonly mesh: Mesh;
  /** The coordinator closes it in `close()`. */
  readonly store: StateStore;
  /**
   * How long a primary may serve reads without asking again (default 2000 ms, at most 20 s). Must never change in a
   * cluster.
   */
  readonly leaseMs?: number;
  /** Additional time that a recovery waits, for clocks that run at different rates (default 200 ms, at most 5 s). */
  readonly leaseMarginMs?: number;
  /** Default: time since boot, suspended time included. */
  readonly clock?: Clock;
  /** Reports logs that could not be declared dead; default: none. */
  readonly logger?: Logger;
  /**
   * A member has seen a later term although this state does not have one: the members belong to another state. They go on
   * without this coordinator, which refuses nothing and is refused. Default: reported to `logger`.
   */
  readonly onForeign?: (event: { readonly member: number; readonly term: number }) => void;
}

const KNOWN = ['mesh', 'store', 'leaseMs', 'leaseMarginMs', 'clock', 'logger', 'onForeign'];

type Change = Extract<
  CoordinatorRequest,
  { op: 'create-log' | 'abandon-log' | 'raise' | 'give-up-recovery' | 'finish-recovery' }
>;

type CheckedCoordinatorOptions = CoordinatorOptions &
  Required<Pick<CoordinatorOptions, 'leaseMs' | 'leaseMarginMs' | 'clock'>>;

/**
 * Decides which member owns which log. It creates logs and declares them dead; from then on it refuses their primaries
 * both leases and the replacement of backups. It does nothing while logs are written.
 *
 * With a fixed list of members it declares the logs of a member that is lost dead. Where members come and go, it does so when the
 * process left, when a newer process of the member joined, or when a recovery begins: a member that is lost may run, because
 * the coordinator's own process may have been stopped or cut off.
 *
 * Its loss stops no log. Where members come and go, another run over the same state, at this member or at a standby, is known to
 * all members as soon as they are connected with it. It grants leases at once, and declares no log dead before all leases of the
 * runs before it have ended.
 */
export class Coordinator {
  readonly #registry: LogRegistry;
  /** Time at which the last lease on a log expires. */
  readonly #leases = new Map<bigint, number>();
  readonly #lifetime = new Lifetime();
  /** Ends of processes, whose logs are being declared dead. */
  readonly #ends = new SerialQueue();
  readonly #subscriptions: Subscription[];
  readonly #startedAt: number;
  /** Resolves when every lease of former terms has ended; undefined: there are none. */
  #formerLeases: Promise<void> | undefined;
  /** Messages of the application to members, and their requests, with this coordinator's term in each. */
  readonly channel: CoordinatorChannel;

  private constructor(
    /** The UUID of the cluster; backups refuse files of another one. */
    readonly clusterId: string,
    registry: LogRegistry,
    private readonly options: CheckedCoordinatorOptions,
  ) {
    this.#registry = registry;
    this.#startedAt = options.clock();
    if (registry.term > 1) {
      this.#formerLeases = this.#formerLeasesEnded();
      // Where this coordinator ends before.
      this.#formerLeases.catch(() => {});
    }
    const { mesh } = options;
    this.channel = new CoordinatorChannel(mesh, registry.term);
    this.#subscriptions = [
      this.channel.onRequest(COORDINATOR_TOPIC, (from, body) =>
        this.#answer(from, readRequest(coordinatorRequest, body, from, 'coordinator')),
      ),
      mesh.onMember((event) => this.#follow(event)),
      mesh.onMessage(
        FOLLOWED_TOPIC,
        (from, body) => void this.#followed(from, readShape(leadMessage, body).term),
      ),
    ];
    // Ended before this coordinator began: earlier processes of this member, and members that do not come back.
    if (mesh.incarnation > 0) this.#processEnded({ member: mesh.id, incarnation: mesh.incarnation - 1 });
    for (const { id, incarnation, state } of mesh.peers.values()) {
      if (state === 'left' || (incarnation === 0 && mesh.failed.has(id))) {
        this.#processEnded({ member: id, incarnation });
      }
    }
    const view = LeadView.of(mesh);
    if (view.highest > this.term) void this.#followed(mesh.id, view.highest);
    else view.announced({ member: mesh.id, term: this.term });
  }

  /** @throws TailwindError ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_OPTION; errors of the store */
  static async open(options: CoordinatorOptions): Promise<Coordinator> {
    const where = 'Coordinator.open';
    onlyKnownOptions(where, options, KNOWN);
    const {
      leaseMs = DEFAULT_LEASE_MS,
      leaseMarginMs = DEFAULT_LEASE_MARGIN_MS,
      clock = bootClock,
    } = options;
    integerOption(where, 'leaseMs', leaseMs, 1, MAX_LEASE_MS);
    integerOption(where, 'leaseMarginMs', leaseMarginMs, 0, MAX_LEASE_MARGIN_MS);
    const registry = await LogRegistry.begin(options.store);
    const checked = { ...options, leaseMs, leaseMarginMs, clock };
    return new Coordinator(await registry.clusterId(), registry, checked);
  }

  /** Rises with each coordinator that is opened over this state; what one with a lower term says does not count. */
  get term(): number {
    return this.#registry.term;
  }

  /**
   * All logs that were ever created. Those of processes that are known to have ended have been declared dead, as soon as the
   * leases of former terms are over.
   */
  async logs(): Promise<LogRecord[]> {
    await this.#ends.idle();
    return this.#registry.logs();
  }

  /** Stops answering and closes the store. Logs continue until they need a confirmation or a lease. */
  async close(): Promise<void> {
    for (const each of this.#subscriptions) each.close();
    this.#lifetime.end(new TailwindError('ERR_RDMC_COORDINATOR_CLOSED', 'This coordinator is closed'));
    await this.options.store.close();
    this.#lifetime.free();
  }

  /** Aborted when the coordinator stops answering. */
  get signal(): AbortSignal {
    return this.#lifetime.signal;
  }

  /** Resolves when the coordinator and its store are closed. */
  get closed(): Promise<void> {
    return this.#lifetime.closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Each member is told once in each connection. One whose queue is full learns it from the next answer or order. */
  #tell(member: number): void {
    try {
      this.options.mesh.send(member, LEAD_TOPIC, { term: this.term });
    } catch (error) {
      this.options.logger?.warn?.(
        { member, reason: messageOf(error) },
        'a member was not told of this coordinator',
      );
    }
  }

  /** Where this coordinator was followed in its own state, its store says so. */
  async #followed(member: number, term: number): Promise<void> {
    try {
      if ((await this.#registry.storedTerm()) !== this.term) return;
    } catch {
      return;
    }
    const { onForeign, logger } = this.options;
    if (onForeign) onForeign({ member, term });
    else logger?.warn?.({ member, term }, 'a member belongs to another state: it has seen a later term');
  }

  async #answer(from: number, data: CoordinatorRequest): Promise<unknown> {
    switch (data.op) {
      case 'cluster':
        return { clusterId: this.clusterId };
      case 'logs':
        return (await this.#registry.logs()).map(plain);
      case 'log':
        return plain(await this.#registry.log(data.logId));
      case 'lease':
        return this.#lease(from, data.logId);
      case 'begin-recovery':
        return plain(await this.#beginRecovery(from, data.logId));
      default:
        return plain(await this.#change(from, data));
    }
  }

  async #change(from: number, request: Change): Promise<LogRecord> {
    const registry = this.#registry;
    const process = processOf(this.options.mesh, from);
    if (request.op === 'create-log') return registry.createLog(process);
    const { op, logId } = request;
    if (op === 'raise') return registry.raiseMinimum(logId, process, request);
    if (op === 'give-up-recovery') return registry.giveUpRecovery(logId, from, request.attempt);
    const log = await (op === 'abandon-log'
      ? registry.abandonLog(logId, process)
      : registry.finishRecovery(logId, from, request));
    // Not earlier: while the log is not recovered, the next attempt waits for this lease.
    this.#leases.delete(logId);
    return log;
  }

  async #lease(from: number, logId: bigint) {
    // Refused requests leave no state; otherwise any member could exhaust memory and delay recoveries.
    const process = processOf(this.options.mesh, from);
    requireLive(await this.#registry.log(logId), process);
    const expiresAt = this.options.clock() + this.options.leaseMs;
    // Noted before the state is read again: a recovery that begins meanwhile waits for this lease, granted or not.
    this.#leases.set(logId, Math.max(expiresAt, this.#leases.get(logId) ?? 0));
    requireLive(await this.#registry.log(logId), process);
    return { leaseMs: this.options.leaseMs };
  }

  async #formerLeasesEnded(): Promise<void> {
    await this.#reach(this.#startedAt + this.options.leaseMs + this.options.leaseMarginMs);
    this.#formerLeases = undefined;
  }

  /** Timers stand still during a suspension; the clock does not. */
  async #reach(time: number): Promise<void> {
    while (this.options.clock() < time) {
      await delay(LEASE_POLL_MS, undefined, { signal: this.#lifetime.signal });
    }
  }

  async #beginRecovery(from: number, logId: bigint): Promise<LogRecord> {
    await this.#formerLeases;
    const { peers, id } = this.options.mesh;
    const isGone = (member: number): boolean => member !== id && peers.get(member)?.state !== 'connected';
    const log = await this.#registry.beginRecovery(logId, from, isGone);
    const lastLease = this.#leases.get(logId);
    if (lastLease !== undefined) await this.#reach(lastLease + this.options.leaseMarginMs);
    return log;
  }

  /**
   * A process that joins ends the ones before it, also where they were lost while no coordinator ran. A process that is lost
   * may run, and come back: perhaps this coordinator was the one that was stopped or cut off. With a fixed list of members
   * nobody comes back.
   */
  #follow({ type, member, incarnation }: MemberEvent): void {
    if (type === 'joined') this.#tell(member);
    if (incarnation === 0) {
      if (type !== 'joined') this.#processEnded({ member, incarnation });
    } else if (type === 'left') this.#processEnded({ member, incarnation });
    // Of a process that is lost only the recoveries end, as they do for one that joins: its former connection has ended.
    else this.#processEnded({ member, incarnation: incarnation - 1 });
  }

  #processEnded(process: OwnerProcess): void {
    void this.#surely(process, () => this.#endRecoveries(process));
    const declare = (): Promise<void> => this.#surely(process, () => this.#declareDead(process));
    // Where this coordinator ends before, the next one knows the processes that have ended.
    const former = this.#formerLeases;
    if (former) former.then(declare, () => {});
    else void declare();
  }

  async #surely({ member }: OwnerProcess, act: () => Promise<void>): Promise<void> {
    try {
      await this.#ends.run(act);
    } catch (error) {
      // A recovery of the log declares it dead as well, and begins another attempt.
      const reason = messageOf(error);
      this.options.logger?.warn?.({ member, code: codeOf(error), reason }, 'logs were not declared dead');
    }
  }

  /** Declares the logs of this process, and of those before it, dead. */
  async #declareDead({ member, incarnation }: OwnerProcess): Promise<void> {
    for (const { logId, state, ...log } of await this.#registry.logs()) {
      const isTheirs = log.owner === member && log.ownerIncarnation <= incarnation;
      if (isTheirs && state === 'live') await this.#registry.declareDead(logId);
    }
  }

  /** The recoveries that the member carried out have ended. */
  async #endRecoveries({ member }: OwnerProcess): Promise<void> {
    for (const { logId, attempt, recoverer } of await this.#registry.logs()) {
      if (recoverer === member) await this.#registry.giveUpRecovery(logId, member, attempt);
    }
  }
}

function plain(record: LogRecord): unknown {
  return JSON.parse(encodeLogRecord(record));
}
