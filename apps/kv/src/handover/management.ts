import { SerialQueue, type Subscription } from '@rdmc/common';
import { readShape } from '@rdmc/common/shapes';
import type { Mesh } from '@rdmc/mesh';
import type { CoordinatorChannel } from '@rdmc/tailwind/coordinator';
import { serverFacts } from '../admin/status.js';
import { isServer, type ManageMessage, manageMessage, Topic } from '../cluster/messages.js';
import type { PlacementState } from '../cluster/placement-state.js';
import { KvError } from '../errors.js';
import { STATUS_TIMEOUT_MS } from '../limits.js';

export interface ManagementOptions {
  readonly mesh: Pick<Mesh, 'peers' | 'request' | 'remove'>;
  readonly orders: Pick<CoordinatorChannel, 'onRequest'>;
  readonly state: Pick<PlacementState, 'drained' | 'setDrained' | 'addRemoved' | 'removed'>;
  /** The servers that are here, with the number of backups that each of their logs needs. */
  readonly servers: () => ReadonlyMap<number, number>;
  /** Whether a server is known that may not have been here in this run: it is in the list of members, or had a log. */
  readonly isKnown: (server: number) => Promise<boolean>;
  /** Resolves when the servers that run have found this coordinator. */
  readonly begun: Promise<void>;
  readonly hasSlots: (server: number) => Promise<boolean>;
  /** The drained servers are others. */
  readonly onChange: () => void;
  readonly rebalance: () => void;
}

/**
 * The coordinator's side of `kv admin rebalance | drain | remove`. An order may be repeated, here or at the coordinator that follows,
 * also where it was carried out in part: whoever gave it may not have got the answer.
 */
export class Management {
  /** An order does not change what another one has looked at. */
  readonly #turns = new SerialQueue();
  readonly #subscription: Subscription;
  #drained: ReadonlySet<number> | undefined;

  constructor(private readonly options: ManagementOptions) {
    this.#subscription = options.orders.onRequest(Topic.MANAGE, (_, body) =>
      this.#turns.run(() => this.#run(readShape(manageMessage, body))),
    );
  }

  close(): void {
    this.#subscription.close();
  }

  /** Servers that must not have slots, or replicas of the others' logs. */
  async drained(): Promise<ReadonlySet<number>> {
    this.#drained ??= new Set(await this.options.state.drained());
    return this.#drained;
  }

  async #run({ op, server }: ManageMessage): Promise<{ drained: number[]; isRepeated: boolean }> {
    // A server that has not found this coordinator yet would not count.
    if (op !== 'rebalance') await this.options.begun;
    const isRepeated = op === 'remove' && (await this.#wasRemoved(server));
    if (op !== 'rebalance' && !isRepeated) await this.#requireKnown(server);
    if (op === 'drain') await this.#drain(server);
    else if (op === 'undrain') await this.#undrain(server);
    else if (op === 'remove') await this.#remove(server);
    this.options.rebalance();
    return { drained: [...(await this.drained())], isRepeated };
  }

  /** The mesh does not remember a server that died before all members were started again. */
  async #requireKnown(server: number): Promise<void> {
    const { mesh, isKnown } = this.options;
    if (isServer(server) && (mesh.peers.has(server) || (await isKnown(server)))) return;
    throw new KvError(
      'ERR_RDMC_KV_INVALID_OPTION',
      `the cluster does not have a server ${server}: see kv admin status`,
    );
  }

  async #drain(server: number): Promise<void> {
    const drained = await this.drained();
    // An order before this one may have ended between the write and the news of it.
    if (drained.has(server)) return this.options.onChange();
    const here = this.options.servers();
    if (!here.has(server)) {
      throw new KvError(
        'ERR_RDMC_KV_INVALID_OPTION',
        `server ${server} is not here: the others take its slots over; then kv admin remove ${server} forgets it`,
      );
    }
    const left = [...here].filter(([id]) => id !== server && !drained.has(id));
    const replicas = Math.max(0, ...here.values());
    if (left.length <= replicas) {
      throw new KvError(
        'ERR_RDMC_KV_SERVER_NEEDED',
        `without server ${server} the cluster would have ${left.length}; it needs ${replicas + 1}, because each log has ` +
          `${replicas} at other servers as --replicas: add a server first (kv server --join)`,
      );
    }
    await this.#set([...drained, server]);
  }

  async #undrain(server: number): Promise<void> {
    const drained = await this.drained();
    if (!drained.has(server)) return this.options.onChange();
    await this.#set([...drained].filter((id) => id !== server));
  }

  /** Whether an operator has removed it, and it has not come back. */
  async #wasRemoved(server: number): Promise<boolean> {
    const { mesh, state } = this.options;
    return !mesh.peers.has(server) && (await state.removed()).includes(server);
  }

  async #remove(server: number): Promise<void> {
    const { mesh, state, hasSlots, servers } = this.options;
    const drained = await this.drained();
    const isHere = servers().has(server) || mesh.peers.get(server)?.state === 'connected';
    if (isHere && !drained.has(server))
      throw needed(server, `it is not drained: run kv admin drain ${server} first`);
    if (await hasSlots(server)) throw needed(server, 'it has slots yet');
    if (isHere && (await this.#hasReplicas(server)))
      throw needed(server, 'it has replicas of other servers yet');
    await state.addRemoved(server);
    // It stays drained until it is gone: without that, a repeated order would find a server that is not drained.
    if (mesh.peers.has(server)) mesh.remove(server);
    if (drained.has(server)) await this.#set([...drained].filter((id) => id !== server));
  }

  async #hasReplicas(server: number): Promise<boolean> {
    const answer = await this.options.mesh.request(
      server,
      Topic.STATUS,
      {},
      { timeoutMs: STATUS_TIMEOUT_MS },
    );
    const { backup } = readShape(serverFacts, answer);
    return (backup?.logs.length ?? 0) > 0;
  }

  async #set(drained: readonly number[]): Promise<void> {
    try {
      await this.options.state.setDrained(drained);
    } catch (error) {
      // It may be written all the same.
      this.#drained = undefined;
      throw error;
    }
    this.#drained = new Set(drained);
    this.options.onChange();
  }
}

function needed(server: number, why: string): KvError {
  return new KvError('ERR_RDMC_KV_SERVER_NEEDED', `server ${server} cannot be removed: ${why}`);
}
