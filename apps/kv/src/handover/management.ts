import type { Subscription } from '@rdmc/common';
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
  readonly state: Pick<PlacementState, 'drained' | 'setDrained' | 'addRemoved'>;
  /** The servers that are here, with the number of backups that each of their logs needs. */
  readonly servers: () => ReadonlyMap<number, number>;
  readonly hasSlots: (server: number) => Promise<boolean>;
  /** The drained servers are others. */
  readonly onChange: () => void;
  readonly rebalance: () => void;
}

/** The coordinator's side of `kv admin rebalance | drain | remove`. */
export class Management {
  readonly #subscription: Subscription;
  #drained: ReadonlySet<number> | undefined;

  constructor(private readonly options: ManagementOptions) {
    this.#subscription = options.orders.onRequest(Topic.MANAGE, (_, body) =>
      this.#run(readShape(manageMessage, body)),
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

  async #run({ op, server }: ManageMessage): Promise<{ drained: number[] }> {
    if (op !== 'rebalance') this.#requireKnown(server);
    if (op === 'drain') await this.#drain(server);
    else if (op === 'undrain') await this.#undrain(server);
    else if (op === 'remove') await this.#remove(server);
    this.options.rebalance();
    return { drained: [...(await this.drained())] };
  }

  #requireKnown(server: number): void {
    if (isServer(server) && this.options.mesh.peers.has(server)) return;
    throw new KvError(
      'ERR_RDMC_KV_INVALID_OPTION',
      `the cluster does not have a server ${server}: see kv admin status`,
    );
  }

  async #drain(server: number): Promise<void> {
    const drained = await this.drained();
    if (drained.has(server)) return;
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
    if (drained.has(server)) await this.#set([...drained].filter((id) => id !== server));
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
    await this.#set([...drained].filter((id) => id !== server));
    mesh.remove(server);
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
    await this.options.state.setDrained(drained);
    this.#drained = new Set(drained);
    this.options.onChange();
  }
}

function needed(server: number, why: string): KvError {
  return new KvError('ERR_RDMC_KV_SERVER_NEEDED', `server ${server} cannot be removed: ${why}`);
}
