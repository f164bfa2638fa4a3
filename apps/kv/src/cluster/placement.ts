import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Deferred, SerialQueue, type Subscription } from '@rdmc/common';
import { readShape } from '@rdmc/common/shapes';
import type { Mesh } from '@rdmc/mesh';
import type { Coordinator, LevelStore, LogRecord } from '@rdmc/tailwind/coordinator';
import { codeOf, type KvError, messageOf } from '../errors.js';
import { HandOvers } from '../handover/hand-overs.js';
import { Management } from '../handover/management.js';
import type { Layout } from '../handover/next-move.js';
import { Rebalancer } from '../handover/rebalancer.js';
import { TAKEOVER_RETRY_MS } from '../limits.js';
import { type Absence, Absences } from './absences.js';
import { AnnouncedTable, type Servers } from './announced-table.js';
import { Attempts } from './attempts.js';
import { Heirs } from './heirs.js';
import { HeirsFull } from './heirs-full.js';
import { Leftovers } from './leftovers.js';
import { leaveOf, type MemberLoss, planMessage, registerMessage, type Share, Topic } from './messages.js';
import { declaredDead, foreignState, minority, underTakeover } from './placement-errors.js';
import type { PlacementEvents } from './placement-events.js';
import { placementFacts } from './placement-facts.js';
import { allSlots, PlacementState, rangesOfSlots, shareOut } from './placement-state.js';
import { RollCall, type RollCallOptions } from './roll-call.js';
import { floorRanges, ownersOf, type Tenure, type TenureRange } from './tenure.js';

export interface PlacementOptions extends Omit<RollCallOptions, 'onTimeout'> {
  readonly mesh: Mesh;
  readonly coordinator: Coordinator;
  readonly store: LevelStore;
  /** How long the servers may take to find this coordinator when it begins (default: `returnMs`). */
  readonly rollCallMs?: number;
}

/**
 * Decides which server has which slots: at the first start an equal part each; when a server is lost, its part is
 * shared out among the others, which recover it; at a restart every server recovers what it had. One recovery at a time.
 *
 * Servers serve their slots without it. A connection that breaks does not show that a server has ended: the servers that are
 * here say whether it runs. Another run, over the same state, first waits for the servers that run, and makes them drop the
 * entries of unfinished takeovers (`Leftovers`).
 */
export class Placement {
  readonly #state: PlacementState;
  /** The logs of the servers that are here. */
  readonly #logs = new Map<string, number>();
  /** How often each server was lost: the next process of its id does not have its log. */
  readonly #losses = new Map<number, number>();
  readonly #leftovers: Leftovers;
  readonly #absences: Absences;
  readonly #table: AnnouncedTable;
  readonly #rollCall: RollCall;
  /** Resolved when the servers that have slots are here, or are late. */
  readonly #begun = new Deferred<void>();
  readonly #ended = new AbortController();
  readonly #subscriptions: Subscription[];
  /** All takeovers of this run have higher numbers. */
  #before: number | undefined;
  readonly #attempts: Attempts;
  readonly #handOvers: HandOvers;
  readonly #rebalancer: Rebalancer;
  readonly #management: Management;
  /** How many backups the log of each server needs. */
  readonly #replicas = new Map<number, number>();
  #turn = 0;
  /** The servers whose absence was reported. */
  #missed = '';
  readonly #tries = new Map<string, number>();
  readonly #heirs = new Heirs({
    // A server that came meanwhile may have leftovers.
    clean: () => this.#living.filter(([logId]) => this.#leftovers.isClean(logId)),
    drained: () => this.#management.drained(),
  });
  readonly #work = new SerialQueue();
  private readonly mesh: Mesh;
  private readonly coordinator: Coordinator;

  constructor(
    { mesh, coordinator, store, ...waits }: PlacementOptions,
    private readonly events: PlacementEvents,
  ) {
    this.mesh = mesh;
    const { channel } = coordinator;
    this.coordinator = coordinator;
    this.#state = new PlacementState(store);
    const ended = this.#ended.signal;
    // All servers are asked at once: one for each.
    setMaxListeners(0, ended);
    const isHere = (logId: string): boolean => this.#logs.has(logId);
    this.#leftovers = new Leftovers({ orders: channel, ended, isHere });
    const logs = (): Promise<LogRecord[]> => coordinator.logs();
    const [state, leftovers] = [this.#state, this.#leftovers];
    this.#attempts = new Attempts({ orders: channel, state, logs, leftovers, ended, isHere });
    const { returnMs, rollCallMs = returnMs } = waits;
    this.#absences = new Absences({ mesh, orders: channel, returnMs, ended, onCheck: () => this.#enqueue() });
    const numbered = async () => {
      const { epoch, tenures } = await this.#state.numbered(logs);
      return { epoch, owners: ownersOf(tenures).bySlot, drained: [...(await this.#management.drained())] };
    };
    const onServing = (epoch: number): void => this.events.serving?.(epoch);
    const onChange = (): Promise<void> => this.#announceAgain();
    this.#table = new AnnouncedTable({ mesh, orders: channel, numbered, onServing });
    this.#handOvers = new HandOvers({ mesh, orders: channel, state: this.#state, logs, ended, onChange });
    this.#rebalancer = new Rebalancer({
      run: (move) => this.#handOvers.run(move),
      layout: () => this.#layout(),
      keep: (isMoving) => this.#state.setMoving(isMoving),
      ended,
      onMoved: ({ source, target, slots }) =>
        this.events.moved?.({ source: source.member, target: target.member, slots: slots.length }),
      onBalanced: () => this.events.balanced?.(),
      onFailed: ({ source, target }, failure) =>
        this.events.notMoved?.({ source: source.member, target: target.member, ...failure }),
    });
    this.#management = new Management({
      mesh,
      orders: channel,
      state: this.#state,
      servers: () => new Map(this.#living.map(([, member]) => [member, this.#replicas.get(member) ?? 0])),
      isKnown: async (server) =>
        waits.servers.includes(server) || (await logs()).some(({ owner }) => owner === server),
      begun: this.#begun.promise,
      hasSlots: (server) => this.#hasSlots(server),
      onChange: () => void this.#announceAgain(),
      rebalance: () => this.#rebalancer.start(),
    });
    this.#rollCall = new RollCall({ ...waits, returnMs: rollCallMs, onTimeout: () => this.#enqueue() });
    this.#subscriptions = [
      channel.onRequest(Topic.REGISTER, (from, body) => this.#register(from, body)),
      channel.onRequest(Topic.PLAN, (_, body) => this.#attempts.plan(readShape(planMessage, body).takeover)),
      channel.onRequest(Topic.STATUS, () =>
        placementFacts({
          coordinator,
          level: store.level,
          state: this.#state,
          attempts: this.#attempts,
          isHere,
          moves: this.#rebalancer,
          layout: () => this.#layout(),
          management: this.#management,
        }),
      ),
      mesh.onFailure(({ member, reason }) => this.#lost({ type: 'lost', member, reason })),
      mesh.onLeave((member) => this.#lost(leaveOf(member))),
    ];
  }

  /** Resolves when there is nothing left to do now. */
  idle(): Promise<void> {
    return this.#work.idle();
  }

  async close(): Promise<void> {
    for (const each of this.#subscriptions) each.close();
    this.#handOvers.close();
    this.#management.close();
    this.#rollCall.close();
    this.#ended.abort();
    this.#absences.close();
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
   *   ERR_RDMC_KV_TAKEOVER_FAILED: that is about to happen, or not, and the server should ask again;
   *   ERR_RDMC_KV_FOREIGN_STATE: this coordinator was started with another state than the cluster's
   */
  async #register(from: number, body: unknown): Promise<null> {
    const { logId, replicas } = readShape(registerMessage, body);
    const losses = this.#losses.get(from);
    const records = await this.coordinator.logs();
    const record = records.find((each) => String(each.logId) === logId);
    if (record?.owner !== from) throw this.#foreignState(from, logId);
    if (record.state !== 'live') throw declaredDead(from, logId);
    // Meanwhile it may have been lost, and the one that is here now may be another process.
    if (this.#losses.get(from) !== losses || !this.#servers.includes(from)) return null;
    if (this.#attempts.isUnderWay(logId)) throw underTakeover(from, logId);
    this.#logs.set(logId, from);
    this.#replicas.set(from, replicas);
    this.#table.joined(from);
    this.#stir();
    return null;
  }

  #foreignState(server: number, logId: string): KvError {
    const error = foreignState(server, logId);
    this.events.failed?.({ logId, server, code: error.code, reason: error.message });
    return error;
  }

  /** A server that is back registers again, if its log lives. */
  #lost(loss: MemberLoss): void {
    const { member } = loss;
    this.#losses.set(member, (this.#losses.get(member) ?? 0) + 1);
    for (const [logId, server] of this.#logs) {
      if (server === member) this.#logs.delete(logId);
    }
    this.#table.lost(member);
    this.events.memberLost?.(loss);
    this.#stir();
  }

  #stir(): void {
    this.#absences.stir();
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

  /** Until every slot has a server that is there, or that may be back. */
  async #settle(): Promise<void> {
    const signal = this.#ended.signal;
    while (!signal.aborted) {
      const logs = await this.coordinator.logs();
      const stored = await this.#state.storedTenures(logs);
      this.#forgetDead(logs);
      const living = new Map(this.#living);
      if (!this.#rollCall.hasBegun(stored && ownersOf(stored).bySlot, logs, living)) return;
      this.#begun.resolve();
      const tenures = stored ?? (await this.#assign(logs, living));
      const owners = ownersOf(tenures).bySlot;
      this.#before ??= await this.#state.next();
      await this.#leftovers.drop(owners, living, this.#before);
      const absence = await this.#absences.of(logs, new Set(owners), living);
      this.#report(absence);
      await this.#table.announce(owners, this.#serversOf(logs, absence));
      if (living.size === 0 || absence.isExpected) return;
      const orphans = [...new Set(owners)].filter((logId) => absence.dead.has(logId));
      if (orphans.length === 0) {
        await this.#dropUnused(owners, logs, absence);
        await this.#state.fold(() => this.coordinator.logs());
        await this.#rebalanceWhereDue(owners);
        return;
      }
      await this.#noteNewcomers(owners);
      // In turn: one that cannot be recovered now does not hold up the others.
      const orphan = orphans[this.#turn % orphans.length]!;
      this.#turn += 1;
      if (!(await this.#recover(orphan, tenures, logs)))
        await delay(TAKEOVER_RETRY_MS, undefined, { signal });
    }
  }

  /** Slots were handed over, or were not: servers hold requests until they know. */
  async #announceAgain(): Promise<void> {
    const here = (logId: string): number | undefined => this.#logs.get(logId);
    // Where the store is out of reach, the work that follows announces it.
    await this.#table.announce([], { here, known: here }, true).catch(() => this.#enqueue());
  }

  /** Undefined: a server with slots is not here. */
  async #layout(): Promise<Layout | undefined> {
    const tenures = await this.#state.storedTenures(await this.coordinator.logs());
    const holders = this.#living
      .filter(([logId]) => this.#leftovers.isClean(logId))
      .map(([logId, member]) => ({ logId, member }));
    const here = new Set(holders.map(({ logId }) => logId));
    if (!tenures) return undefined;
    const { bySlot, logs } = ownersOf(tenures);
    if (![...logs].every((logId) => here.has(logId))) return undefined;
    return { owners: bySlot, holders, drained: await this.#management.drained() };
  }

  async #hasSlots(server: number): Promise<boolean> {
    const logs = await this.coordinator.logs();
    const theirs = new Set(logs.filter(({ owner }) => owner === server).map(({ logId }) => String(logId)));
    return (await this.#state.storedTenures(logs))?.some(({ logId }) => theirs.has(logId)) ?? false;
  }

  /** A server that came later does not have slots, and one that is to go has some; or an earlier run has not come to the end. */
  async #rebalanceWhereDue(owners: readonly string[]): Promise<void> {
    const having = new Set(owners);
    const drained = await this.#management.drained();
    const isDue = this.#living.some(([logId, member]) => drained.has(member) === having.has(logId));
    if (isDue || (await this.#state.moving())) this.#rebalancer.start();
  }

  /** A server without slots is about to get a part of a dead log: afterwards it would not show that its share is due. */
  async #noteNewcomers(owners: readonly string[]): Promise<void> {
    const having = new Set(owners);
    const drained = await this.#management.drained();
    const isNew = this.#living.some(([logId, member]) => !having.has(logId) && !drained.has(member));
    if (isNew) await this.#state.setMoving(true);
  }

  /** Once, until other servers are missed. */
  #report({ missed }: Absence): void {
    const names = missed.map((id) => `server ${id}`).join(', ');
    if (names !== '' && names !== this.#missed) {
      const { code, message } = minority(names);
      this.events.failed?.({ logId: undefined, server: undefined, code, reason: message });
    }
    this.#missed = names;
  }

  /** A server whose log was declared dead serves nothing any more, and ends as soon as it knows. */
  #forgetDead(logs: readonly LogRecord[]): void {
    const dead = logs.filter(({ state }) => state !== 'live').map(({ logId }) => String(logId));
    for (const logId of dead) this.#logs.delete(logId);
    this.#leftovers.forget(dead);
  }

  #serversOf(logs: readonly LogRecord[], { dead }: Absence): Servers {
    const records = new Map(logs.map((record) => [String(record.logId), record]));
    const here = (logId: string): number | undefined => this.#logs.get(logId);
    const away = (logId: string): number | undefined => {
      const record = records.get(logId);
      if (record === undefined || dead.has(logId)) return undefined;
      const { owner, ownerIncarnation } = record;
      return this.mesh.peers.get(owner)?.incarnation === ownerIncarnation ? owner : undefined;
    };
    return { here, known: (logId) => here(logId) ?? away(logId) };
  }

  /** The first layout of the cluster: an equal part for each server, also for one that was lost since the roll call. */
  async #assign(logs: readonly LogRecord[], living: ReadonlyMap<string, number>): Promise<readonly Tenure[]> {
    const first = (): TenureRange[] =>
      shareOut(allSlots(), [...living]).map(([[logId], slots]) => [slots[0]!, slots.at(-1)!, logId, 0, 0]);
    return this.#state.tenures(await this.#state.initial(first), logs);
  }

  async #recover(logId: string, tenures: readonly Tenure[], logs: readonly LogRecord[]): Promise<boolean> {
    const slots = allSlots().filter((slot) => tenures[slot]!.logId === logId);
    const owner = logs.find((record) => String(record.logId) === logId)?.owner;
    const shares: Share[] = shareOut(slots, await this.#heirs.of(logId, owner))
      .filter(([, part]) => part.length > 0)
      .map(([[heir, member], part]) => ({ member, logId: heir, ranges: rangesOfSlots(part) }));
    if (shares.length === 0) return false;
    try {
      // In turn: what one of them cannot do, another may.
      const tries = this.#tries.get(logId) ?? 0;
      this.#tries.set(logId, tries + 1);
      const leader = shares[tries % shares.length]!.member;
      const answer = await this.#attempts.run(leader, { logId, shares, floors: floorRanges(tenures, logId) });
      this.#heirs.forget(logId);
      this.events.recovered?.({ logId, server: owner, ...answer });
      return true;
    } catch (error) {
      if (error instanceof HeirsFull) this.#heirs.leaveOut(logId, logsOf(shares, error.members));
      this.events.failed?.({ logId, server: owner, code: codeOf(error), reason: messageOf(error) });
      return false;
    }
  }

  /**
   * Dead logs without slots: their replicas are freed. A server that is starting has a log before it registers, and one that
   * returned has one without slots.
   */
  async #dropUnused(owners: readonly string[], logs: readonly LogRecord[], { dead }: Absence): Promise<void> {
    const having = new Set(owners);
    const members = this.#living.map(([, member]) => member);
    for (const { logId, state } of logs) {
      const id = String(logId);
      if (state === 'recovered' || having.has(id) || !dead.has(id) || members.length === 0) continue;
      const leader = members[this.#turn % members.length]!;
      const run = this.#attempts.run(leader, { logId: id, shares: [], floors: [] });
      // A hand-over may have given it slots meanwhile.
      await run.catch((error: unknown) => {
        if (codeOf(error) === 'ERR_RDMC_KV_TAKEOVER_FAILED') this.#enqueue();
      });
    }
  }
}

/** The logs of those heirs. */
function logsOf(shares: readonly Share[], members: readonly number[]): string[] {
  return shares.filter(({ member }) => members.includes(member)).map(({ logId }) => logId);
}
