import { type Levels, levelsText, SerialQueue, type Subscription, speaks } from '@rdmc/common';
import { readShape } from '@rdmc/common/shapes';
import type { Mesh, MeshPeer } from '@rdmc/mesh';
import type { CoordinatorChannel, LevelStore, LogRecord } from '@rdmc/tailwind/coordinator';
import type { ComparedOption } from '../cluster/compared-option.js';
import { HeardServers } from '../cluster/heard-servers.js';
import { type EnlistMessage, enlistMessage, isServer, memberName, Topic } from '../cluster/messages.js';
import { replicaCounts } from '../cluster/replica-counts.js';
import { segmentSizes } from '../cluster/segment-sizes.js';
import { KvError } from '../errors.js';

export interface LevelKeeperOptions {
  readonly mesh: {
    readonly peers: ReadonlyMap<number, Pick<MeshPeer, 'state' | 'levels' | 'incarnation'>>;
  } & Pick<Mesh, 'id' | 'onLeave'>;
  readonly orders: Pick<CoordinatorChannel, 'onRequest' | 'broadcast'>;
  readonly store: Pick<LevelStore, 'level' | 'raiseLevel'>;
  readonly logs: () => Promise<readonly Pick<LogRecord, 'owner' | 'state'>[]>;
  /** That this process speaks. */
  readonly levels: Levels;
  /** How long new servers wait for those that run, and that have not found this coordinator. */
  readonly waitMs: number;
  /** Aborted when this coordinator ends. */
  readonly ended: AbortSignal;
}

/**
 * The coordinator's side of upgrades, and the admission of servers. The level of the cluster is the format of its state. A server asks
 * for it before it opens a file; one that does not speak it is refused. `kv admin finalize` raises it to the highest level of any
 * member, where all speak that; again, it only tells all once more.
 */
export class LevelKeeper {
  /** A server is not admitted between the look at the others and the new level. */
  readonly #turns = new SerialQueue();
  readonly #subscriptions: readonly Subscription[];
  /** What all servers must have the same. */
  readonly #compared: readonly ComparedOption[];
  readonly #heard: HeardServers;

  constructor(private readonly options: LevelKeeperOptions) {
    const { orders, mesh, logs, waitMs, ended } = options;
    this.#compared = [segmentSizes(mesh), replicaCounts(mesh)];
    this.#heard = new HeardServers({ logs, waitMs, ended });
    this.#subscriptions = [
      orders.onRequest(Topic.LEVEL, (from, body) => this.#enlist(from, readShape(enlistMessage, body))),
      orders.onRequest(Topic.FINALIZE, () => this.#turns.run(() => this.#finalize())),
      mesh.onLeave((member) => this.#heard.left(member)),
    ];
  }

  close(): void {
    for (const each of this.#subscriptions) each.close();
    this.#heard.close();
  }

  async #enlist(from: number, enlistment: EnlistMessage): Promise<{ level: number }> {
    const incarnation = this.options.mesh.peers.get(from)?.incarnation;
    const admit = () => this.#turns.run(async () => ({ level: this.#admit(from, incarnation, enlistment) }));
    if (enlistment.isRunning) return admit().finally(() => this.#heard.add(from));
    this.#heard.add(from);
    await this.#knowOthers(from, enlistment);
    return admit();
  }

  /**
   * A new server is compared with those that run: not before each of its options was told by one of them too, or all have told theirs.
   * It waits outside of the turns, since they enlist in theirs.
   */
  async #knowOthers(from: number, enlistment: EnlistMessage): Promise<void> {
    const compared = this.#compared;
    if (!compared.some((each) => each.isTold(enlistment))) return;
    await this.#heard.all(() => compared.every((each) => each.isOfAnother(from, enlistment)));
  }

  #admit(from: number, asked: number | undefined, enlistment: EnlistMessage): number {
    const { mesh, store } = this.options;
    const { levels, incarnation } = mesh.peers.get(from) ?? {};
    // The connection has ended: the process asks again where it is the member yet. Another one may be by now.
    if (levels === undefined || incarnation !== asked)
      throw new KvError('ERR_RDMC_KV_MEMBER_LOST', `${memberName(from)} is lost`);
    requireLevel(memberName(from), levels, store.level);
    for (const each of this.#compared) each.check(from, enlistment);
    for (const each of this.#compared) each.admit(from, enlistment);
    return store.level;
  }

  async #finalize(): Promise<{ before: number; level: number }> {
    const { store, orders } = this.options;
    const before = store.level;
    const members = await this.#members();
    const level = Math.max(before, ...members.map(([, levels]) => levels?.most ?? 0));
    // Raised before, by an order whose answer was lost perhaps. Whoever is not here is refused if it does not speak the level.
    const isDone = level === before;
    const obstacles = isDone ? [] : members.flatMap(([id, levels]) => obstacleOf(id, levels, level));
    if (obstacles.length > 0) throw notAll(level, before, obstacles);
    // Durable first: the next coordinator must not admit a process that this one refuses.
    await store.raiseLevel(level);
    orders.broadcast(Topic.LEVEL, { level });
    return { before, level };
  }

  /** This coordinator, those that are connected, and all servers; without levels those that are not here. */
  async #members(): Promise<[member: number, levels: Levels | undefined][]> {
    const { mesh, logs, levels } = this.options;
    const owners = (await logs()).filter(({ state }) => state === 'live').map(({ owner }) => owner);
    const ids = new Set(owners);
    for (const [id, { state }] of mesh.peers) {
      if (state === 'connected' || (state === 'failed' && isServer(id))) ids.add(id);
    }
    const others = [...ids].filter((id) => id !== mesh.id).sort((one, other) => one - other);
    return [
      [mesh.id, levels],
      ...others.map((id) => [id, mesh.peers.get(id)?.levels] as [number, Levels | undefined]),
    ];
  }
}

/** @throws KvError ERR_RDMC_KV_LEVEL: a process with these levels cannot be a member of a cluster of this level */
export function requireLevel(who: string, levels: Levels, level: number): void {
  if (speaks(levels, level)) return;
  const advice =
    levels.most < level
      ? 'start a newer release: the upgrade of the cluster was finalized'
      : 'run kv admin finalize with the release between first';
  throw new KvError(
    'ERR_RDMC_KV_LEVEL',
    `${who} speaks ${levelsText(levels)}, and the cluster has level ${level}: ${advice}`,
  );
}

function obstacleOf(id: number, levels: Levels | undefined, level: number): string[] {
  if (levels === undefined) return [`${memberName(id)} is not here`];
  return speaks(levels, level) ? [] : [`${memberName(id)} speaks ${levelsText(levels)}`];
}

function notAll(level: number, before: number, obstacles: readonly string[]): KvError {
  return new KvError(
    'ERR_RDMC_KV_NOT_FINALIZED',
    `not every member speaks level ${level}, and the cluster stays at level ${before}: ${obstacles.join('; ')}. Start them with ` +
      'the new release, or remove them (kv admin remove)',
  );
}
