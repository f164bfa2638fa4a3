import { setTimeout as delay } from 'node:timers/promises';
import { SerialQueue, type Subscription } from '@rdmc/common';
import { readShape } from '@rdmc/common/shapes';
import type { Mesh } from '@rdmc/mesh';
import type { Coordinator, LogRecord, StateStore } from '@rdmc/tailwind/coordinator';
import { codeOf, KvError, messageOf } from '../errors.js';
import { TAKEOVER_RETRY_MS, TAKEOVER_TIMEOUT_MS } from '../limits.js';
import { Leftovers } from './leftovers.js';
import {
  planMessage,
  registerMessage,
  type Share,
  type TakeoverMessage,
  Topic,
  takeoverAnswer,
} from './messages.js';
import { allSlots, type LogRange, PlacementState, rangesOfSlots, shareOut } from './placement-state.js';
import { declaredDead, foreignState } from './refused-registration.js';
import { RollCall, type RollCallOptions } from './roll-call.js';
import { NOBODY, rangesOf } from './slot-table.js';

export interface PlacementEvents {
  /** A server's log is recovered, and its slots are served again. `server` had the log. */
  recovered?(event: {
    logId: string;
    server: number | undefined;
    entries: number;
    milliseconds: number;
  }): void;
  /** Without a log: slots cannot be given out at all now. It is tried again. */
  failed?(event: {
    logId: string | undefined;
    server: number | undefined;
    code: string;
    reason: string;
  }): void;
  /** Every slot has a server now, by another table than before. */
  serving?(epoch: number): void;
  /** A server is gone. */
  memberLost?(event: { member: number; reason: string }): void;
}

export interface PlacementOptions extends Omit<RollCallOptions, 'onTimeout'> {
  readonly mesh: Mesh;
  readonly coordinator: Coordinator;
  readonly store: StateStore;
}

/**
 * Decides which server has which slots: at the first start an equal part each; when a server is lost, its part is
 * shared out among the others, which recover it; at a restart every server recovers what it had. One recovery at a time.
 *
 * Servers serve their slots without it. Another run, over the same state, first waits for the servers that run, and makes
 * them drop the entries of unfinished takeovers (`Leftovers`).
 */
export class Placement {
  readonly #state: PlacementState;
  /** The logs of the servers that are here. */
  readonly #logs = new Map<string, number>();
  /** How often each server was lost: the next process of its id does not have its log. */
  readonly #losses = new Map<number, number>();
  readonly #leftovers: Leftovers;
  readonly #rollCall: RollCall;
  readonly #ended = new AbortController();
  readonly #subscriptions: Subscription[];
  /** The table that was announced last, if every slot had a server in it: a table that changes nothing is no event. */
  #served: string | undefined;
  /** All takeovers of this run have higher numbers. */
  #before: number | undefined;
  #current: TakeoverMessage | undefined;
  /** Attempts whose outcome is not known, by log. */
  readonly #failed = new Map<string, TakeoverMessage[]>();
  #attempts = 0;
  readonly #tries = new Map<string, number>();
  readonly #work = new SerialQueue();
  private readonly mesh: Mesh;
  private readonly coordinator: Coordinator;

  constructor(
    { mesh, coordinator, store, ...times }: PlacementOptions,
    private readonly events: PlacementEvents,
  ) {
    this.mesh = mesh;
    this.coordinator = coordinator;
    this.#state = new PlacementState(store);
    const isHere = (logId: string): boolean => this.#logs.has(logId);
    this.#leftovers = new Leftovers({ mesh, ended: this.#ended.signal, isHere });
    this.#rollCall = new RollCall({ ...times, onTimeout: () => this.#enqueue() });
    this.#subscriptions = [
      mesh.onRequest(Topic.REGISTER, (from, body) => this.#register(from, body)),
      mesh.onRequest(Topic.PLAN, (_, body) => this.#plan(readShape(planMessage, body).takeover)),
      mesh.onFailure(({ member, reason }) => this.#lost(member, reason)),
      mesh.onLeave((member) => this.#lost(member, 'it left')),
    ];
  }

  /** Resolves when there is nothing left to do now. */
  idle(): Promise<void> {
    return this.#work.idle();
  }

  async close(): Promise<void> {
    for (const each of this.#subscriptions) each.close();
    this.#rollCall.close();
    this.#ended.abort();
    await this.idle();
  }

  get #servers(): number[] {
    return [...this.mesh.peers.values()].filter(({ state }) => state === 'connected').map(({ id }) => id);
  }

  /** Logs whose servers are there. */
  get #living(): [logId: string, member: number][] {
    const servers = new Set(this.#servers);
    return [...this.#logs].filter(([, member]) => servers.has(member));
  }

  /**
   * Also of a server that had registered at an earlier run, or before it was cut off.
   * @throws KvError ERR_RDMC_LOG_FENCED: the log was declared dead meanwhile, and others have the slots or will;
   *   ERR_RDMC_KV_FOREIGN_STATE: this coordinator was started with another state than the cluster's
   */
  async #register(from: number, body: unknown): Promise<null> {
    const { logId } = readShape(registerMessage, body);
    const losses = this.#losses.get(from);
    const records = await this.coordinator.logs();
    const record = records.find((each) => String(each.logId) === logId);
    if (record?.owner !== from) throw this.#foreignState(from, logId);
    if (record.state !== 'live') throw declaredDead(from, logId);
    // Meanwhile it may have been lost, and the one that is here now may be another process.
    if (this.#losses.get(from) !== losses || !this.#servers.includes(from)) return null;
    this.#logs.set(logId, from);
    this.#enqueue();
    return null;
  }

  #foreignState(server: number, logId: string): KvError {
    const error = foreignState(server, logId);
    this.events.failed?.({ logId, server, code: error.code, reason: error.message });
    return error;
  }

  /** A server that is back registers again, if its log lives. */
  #lost(member: number, reason: string): void {
    this.#losses.set(member, (this.#losses.get(member) ?? 0) + 1);
    for (const [logId, server] of this.#logs) {
      if (server !== member) continue;
      this.#logs.delete(logId);
      this.#leftovers.forget(logId);
    }
    this.events.memberLost?.({ member, reason });
    this.#enqueue();
  }

  #enqueue(): void {
    void this.#work.run(() => this.#settleSurely());
  }

  /** The state's store may be out of reach for a while: no slot may stay without a server for that. */
  async #settleSurely(): Promise<void> {
    const { signal } = this.#ended;
    while (!signal.aborted) {
      try {
        await this.#settle();
        return;
      } catch (error) {
        if (signal.aborted) return;
        this.events.failed?.({
          logId: undefined,
          server: undefined,
          code: codeOf(error),
          reason: messageOf(error),
        });
        await delay(TAKEOVER_RETRY_MS, undefined, { signal }).catch(() => {});
      }
    }
  }

  /** Until every slot has a server that is there. */
  async #settle(): Promise<void> {
    const signal = this.#ended.signal;
    while (!signal.aborted) {
      const logs = await this.coordinator.logs();
      const stored = await this.#state.storedOwners(logs);
      const living = new Map(this.#living);
      if (!this.#rollCall.hasBegun(stored, logs, living)) return;
      const owners = stored ?? (await this.#assign(logs));
      this.#before ??= await this.#state.next();
      await this.#leftovers.drop(owners, living, this.#before);
      await this.#announce(owners, living);
      const orphans = [...new Set(owners)].filter((logId) => !living.has(logId));
      if (orphans.length === 0 || living.size === 0) {
        await this.#dropUnused(owners, logs, living);
        return;
      }
      // In turn: one that cannot be recovered now does not hold up the others.
      const orphan = orphans[this.#attempts % orphans.length]!;
      this.#attempts += 1;
      const slots = allSlots().filter((slot) => owners[slot] === orphan);
      const done = await this.#recover(orphan, slots, logs);
      if (!done) await delay(TAKEOVER_RETRY_MS, undefined, { signal });
    }
  }

  /** The first layout of the cluster: an equal part for each server. */
  async #assign(logs: readonly LogRecord[]): Promise<string[]> {
    const first = (): LogRange[] =>
      shareOut(allSlots(), this.#living).map(([[logId], slots]) => [slots[0]!, slots.at(-1)!, logId]);
    return this.#state.owners(await this.#state.initial(first), logs);
  }

  /** A server that was lost meanwhile is left out: the next process of its id would serve these slots without their keys. */
  async #announce(owners: readonly string[], living: ReadonlyMap<string, number>): Promise<void> {
    const epoch = await this.#state.next();
    const here = new Map([...living].filter(([logId]) => this.#logs.has(logId)));
    const ranges = rangesOf(owners.map((logId) => here.get(logId) ?? NOBODY));
    this.mesh.broadcast(Topic.TABLE, {
      epoch,
      ranges: ranges.map(({ from, to, member }) => [from, to, member]),
    });
    const isComplete = ranges.every(({ member }) => member !== NOBODY);
    const served = isComplete ? JSON.stringify(ranges) : undefined;
    if (isComplete && served !== this.#served) this.events.serving?.(epoch);
    this.#served = served;
  }

  /** The slots go to the server that had them, if it is back with a new log; else to all. */
  async #recover(logId: string, slots: readonly number[], logs: readonly LogRecord[]): Promise<boolean> {
    const living = this.#living;
    const owner = logs.find((record) => String(record.logId) === logId)?.owner;
    const back = living.filter(([, member]) => member === owner);
    const shares: Share[] = shareOut(slots, back.length > 0 ? back : living)
      .filter(([, part]) => part.length > 0)
      .map(([[heir, member], part]) => ({ member, logId: heir, ranges: rangesOfSlots(part) }));
    try {
      // In turn: what one of them cannot do, another may.
      const tries = this.#tries.get(logId) ?? 0;
      this.#tries.set(logId, tries + 1);
      const leader = shares[tries % shares.length]!.member;
      const answer = await this.#attempt(leader, logId, shares);
      this.events.recovered?.({ logId, server: owner, ...answer });
      return true;
    } catch (error) {
      this.events.failed?.({ logId, server: owner, code: codeOf(error), reason: messageOf(error) });
      return false;
    }
  }

  /** One server recovers a log for all that get a part of it. What fails may still end well, if only its answer was lost. */
  async #attempt(leader: number, logId: string, shares: Share[]) {
    const takeover = await this.#state.next();
    this.#current = { takeover, logId, shares };
    const options = { timeoutMs: TAKEOVER_TIMEOUT_MS, signal: this.#ended.signal };
    try {
      const answer = await this.mesh.request(leader, Topic.TAKEOVER, this.#current, options);
      this.#failed.delete(logId);
      return readShape(takeoverAnswer, answer);
    } catch (error) {
      this.#failed.set(logId, [...(this.#failed.get(logId) ?? []), this.#current]);
      throw error;
    } finally {
      this.#current = undefined;
    }
  }

  /**
   * The leader of the attempt under way has the log's recovery for itself: earlier attempts cannot end any more. Only now
   * may what they brought to the heirs be dropped, and their plan be replaced; before, one of them might have been
   * about to make it true.
   */
  async #plan(takeover: number): Promise<null> {
    const current = this.#current;
    if (current?.takeover !== takeover) throw notUnderWay(takeover);
    const { logId, shares } = current;
    for (const failed of this.#failed.get(logId) ?? []) await this.#abandon(failed);
    // Meanwhile this attempt may have failed, and a later one have its plan.
    if (this.#current !== current) throw notUnderWay(takeover);
    this.#failed.delete(logId);
    const planned = shares.flatMap((share) =>
      share.ranges.map(([from, to]): LogRange => [from, to, share.logId]),
    );
    await this.#state.plan(logId, planned);
    return null;
  }

  /** @throws MeshError when an heir that is there does not answer: its leftovers must not be taken for more */
  async #abandon({ takeover, shares }: TakeoverMessage): Promise<void> {
    const servers = new Set(this.#servers);
    await Promise.all(
      shares
        .filter(({ member }) => servers.has(member))
        .map(({ member, ranges }) => this.mesh.request(member, Topic.ABANDON, { takeover, ranges })),
    );
  }

  /**
   * Logs that do not have an owner and slots: their replicas are freed. A server that is starting has a log before it
   * registers.
   */
  async #dropUnused(
    owners: readonly string[],
    logs: readonly LogRecord[],
    living: ReadonlyMap<string, number>,
  ): Promise<void> {
    const having = new Set(owners);
    for (const { logId, owner, state } of logs) {
      const mayRegister = state === 'live' && this.#servers.includes(owner);
      const isUsed = having.has(String(logId)) || this.#logs.has(String(logId));
      if (state === 'recovered' || mayRegister || isUsed || living.size === 0) continue;
      const members = [...living.values()];
      const member = members[this.#attempts % members.length];
      await this.#attempt(member!, String(logId), []).catch(() => {});
    }
  }
}

function notUnderWay(takeover: number): KvError {
  return new KvError('ERR_RDMC_KV_TAKEOVER_FAILED', `takeover ${takeover} is not under way`);
}
