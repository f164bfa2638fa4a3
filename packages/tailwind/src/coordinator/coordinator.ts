import { setTimeout as delay } from 'node:timers/promises';
import { Lifetime, type Subscription } from '@rdmc/common';
import type { Mesh } from '@rdmc/mesh';
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
import { encodeLogRecord, type LogRecord } from './log-record.js';
import { LogRegistry, requireLive } from './log-registry.js';
import { COORDINATOR_TOPIC, type CoordinatorRequest, coordinatorRequest } from './messages.js';
import type { StateStore } from './state-store.js';

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
}

const KNOWN = ['mesh', 'store', 'leaseMs', 'leaseMarginMs', 'clock', 'logger'];

type Change = Extract<
  CoordinatorRequest,
  { op: 'create-log' | 'abandon-log' | 'raise' | 'give-up-recovery' | 'finish-recovery' }
>;

type CheckedCoordinatorOptions = CoordinatorOptions &
  Required<Pick<CoordinatorOptions, 'leaseMs' | 'leaseMarginMs' | 'clock'>>;

/**
 * Decides which member owns which log. It creates logs and declares them dead; from then on it refuses their primaries
 * both leases and the replacement of backups. When the mesh loses a member, the coordinator declares that member's
 * logs dead. It does nothing while logs are written.
 */
export class Coordinator {
  readonly #registry: LogRegistry;
  /** Time at which the last lease on a log expires. */
  readonly #leases = new Map<bigint, number>();
  readonly #lifetime = new Lifetime();
  readonly #subscriptions: Subscription[];
  readonly #startedAt: number;

  private constructor(
    /** The UUID of the cluster; backups refuse files of another one. */
    readonly clusterId: string,
    registry: LogRegistry,
    private readonly options: CheckedCoordinatorOptions,
  ) {
    this.#registry = registry;
    this.#startedAt = options.clock();
    const { mesh } = options;
    this.#subscriptions = [
      mesh.onRequest(COORDINATOR_TOPIC, (from, body) => this.#answer(from, body)),
      mesh.onFailure(({ member }) => void this.#memberLost(member)),
      mesh.onLeave((member) => void this.#memberLost(member)),
    ];
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
    const registry = new LogRegistry(options.store);
    const checked = { ...options, leaseMs, leaseMarginMs, clock };
    return new Coordinator(await registry.clusterId(), registry, checked);
  }

  /** All logs that were ever created. */
  logs(): Promise<LogRecord[]> {
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

  async #answer(from: number, body: unknown): Promise<unknown> {
    const data = readRequest(coordinatorRequest, body, from, 'coordinator');
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
    if (request.op === 'create-log') return registry.createLog(from);
    const { op, logId } = request;
    if (op === 'raise') return registry.raiseMinimum(logId, from, request);
    if (op === 'give-up-recovery') return registry.giveUpRecovery(logId, from, request.attempt);
    const log = await (op === 'abandon-log'
      ? registry.abandonLog(logId, from)
      : registry.finishRecovery(logId, from, request));
    // Not earlier: while the log is not recovered, the next attempt waits for this lease.
    this.#leases.delete(logId);
    return log;
  }

  async #lease(from: number, logId: bigint) {
    // Refused requests leave no state; otherwise any member could exhaust memory and delay recoveries.
    requireLive(await this.#registry.log(logId), from);
    const expiresAt = this.options.clock() + this.options.leaseMs;
    // Noted before the state is read again: a recovery that begins meanwhile waits for this lease, granted or not.
    this.#leases.set(logId, Math.max(expiresAt, this.#leases.get(logId) ?? 0));
    requireLive(await this.#registry.log(logId), from);
    return { leaseMs: this.options.leaseMs };
  }

  async #beginRecovery(from: number, logId: bigint): Promise<LogRecord> {
    const { peers, id } = this.options.mesh;
    const isGone = (member: number): boolean => member !== id && peers.get(member)?.state !== 'connected';
    const log = await this.#registry.beginRecovery(logId, from, isGone);
    // An earlier run of this coordinator may have granted a lease just before this run began.
    const lastLease = Math.max(this.#leases.get(logId) ?? 0, this.#startedAt + this.options.leaseMs);
    while (this.options.clock() < lastLease + this.options.leaseMarginMs) {
      await delay(LEASE_POLL_MS, undefined, { signal: this.#lifetime.signal });
    }
    return log;
  }

  async #memberLost(member: number): Promise<void> {
    try {
      const mine = (await this.#registry.logs()).filter(
        ({ owner, state }) => owner === member && state === 'live',
      );
      for (const { logId } of mine) await this.#registry.declareDead(logId);
    } catch (error) {
      // A recovery of the log declares it dead as well.
      const reason = messageOf(error);
      this.options.logger?.warn?.({ member, code: codeOf(error), reason }, 'logs were not declared dead');
    }
  }
}

function plain(record: LogRecord): unknown {
  return JSON.parse(encodeLogRecord(record));
}
