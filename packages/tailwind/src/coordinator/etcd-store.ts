/*
 * Keys in etcd, below the store's prefix:
 *
 *   lead        the leader's key, with a lease (etcd-store-lead.ts)
 *   format      the version of these keys and of their values: the level of the cluster
 *   state/KEY   the value of KEY; its mod_revision is the value's revision
 */
import { type Levels, MAX_LEVEL, ownLevels, parseWholeNumber } from '@rdmc/common';
import { readShape } from '@rdmc/common/shapes';
import { EtcdClient } from './etcd-store-client.js';
import { EtcdLead } from './etcd-store-lead.js';
import {
  type EtcdKeyValue,
  hasModRevision,
  readKey,
  readPrefix,
  type TransactionAnswer,
  transactionAnswer,
  writeKey,
} from './etcd-store-messages.js';
import { checkEtcdOptions, type EtcdStoreOptions } from './etcd-store-options.js';
import { requireLevel, SerialStore } from './serial-store.js';
import type { StoredValue } from './state-store.js';

/**
 * A coordinator's state in etcd (3.4 or newer). Opening the store means to lead: of all processes that open the same
 * prefix, one may act. A leader that was replaced gets ERR_RDMC_STATE_LOST for every operation. All reads are
 * linearizable.
 */
export class EtcdStore extends SerialStore {
  readonly #state: string;
  readonly #format: string;
  #level = 0;

  private constructor(
    private readonly client: EtcdClient,
    private readonly lead: EtcdLead,
    prefix: string,
  ) {
    super();
    this.#state = `${prefix}state/`;
    this.#format = `${prefix}format`;
  }

  /**
   * @throws TailwindError ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_OPTION, ERR_RDMC_STATE_LOCKED: another coordinator
   *   leads; ERR_RDMC_STATE_UNREACHABLE, ERR_RDMC_STATE_REFUSED, ERR_RDMC_STATE_FOREIGN_VERSION: the state has another
   *   level; the reason of `options.signal`
   * @param levels that this process speaks
   */
  static async open(options: EtcdStoreOptions, levels = ownLevels()): Promise<EtcdStore> {
    const checked = checkEtcdOptions(options);
    const client = new EtcdClient(checked);
    let lead: EtcdLead | undefined;
    try {
      lead = await EtcdLead.take(client, checked);
      const store = new EtcdStore(client, lead, checked.prefix);
      await store.#readLevel(levels);
      return store;
    } catch (error) {
      await lead?.close();
      client.close();
      throw error;
    }
  }

  /**
   * Aborted when this process must not act any more. Detected by the next operation, or at the next renewal of the
   * lease.
   */
  get signal(): AbortSignal {
    return this.lead.lost;
  }

  /** The level of the cluster; of a new state, the highest of this process. */
  get level(): number {
    return this.#level;
  }

  /** The value of a key, and its revision; undefined if it was never put. */
  async get(key: string): Promise<StoredValue | undefined> {
    this.assertOpen();
    const [found] = await this.#read(readKey(this.#state + key));
    return found && { value: found.value, revision: found.mod_revision };
  }

  async list(prefix: string): Promise<Map<string, StoredValue>> {
    this.assertOpen();
    const found = await this.#read(readPrefix(this.#state + prefix));
    return new Map(
      found.map(({ key, value, mod_revision: revision }) => [
        key.slice(this.#state.length),
        { value, revision },
      ]),
    );
  }

  protected async release(): Promise<void> {
    await this.lead.close();
    this.client.close();
  }

  protected async change(key: string, value: string, revision: number): Promise<number> {
    const place = this.#state + key;
    const { answer, repeated } = await this.#transact({
      compare: [this.lead.condition, hasModRevision(place, revision)],
      success: [writeKey(place, value)],
      failure: [readKey(this.lead.key), readKey(place)],
    });
    if (answer.succeeded) return answer.header.revision;
    const [leader, found] = answer.responses.map((response) => response.response_range?.kvs[0]);
    if (leader?.create_revision !== this.lead.revision) throw this.lead.lose();
    // Only the leader writes, so an attempt whose answer was lost was carried out.
    if (repeated && found?.value === value && found.mod_revision > revision) return found.mod_revision;
    throw this.conflict(key, found?.mod_revision ?? 0, revision);
  }

  protected async changeLevel(level: number): Promise<void> {
    const success = [writeKey(this.#format, String(level))];
    const { answer } = await this.#transact({ compare: [this.lead.condition], success, failure: [] });
    if (!answer.succeeded) throw this.lead.lose();
    this.#level = level;
  }

  /** Another level is not changed: a process that speaks it may lead again. @throws TailwindError ERR_RDMC_STATE_FOREIGN_VERSION */
  async #readLevel(levels: Levels): Promise<void> {
    const [found] = await this.#read(readKey(this.#format));
    if (found === undefined) return this.changeLevel(levels.most);
    const level = parseWholeNumber(found.value, 0, MAX_LEVEL) ?? 0;
    requireLevel('The state in etcd', level, levels);
    this.#level = level;
  }

  async #read(operation: object): Promise<readonly EtcdKeyValue[]> {
    const { answer } = await this.#transact({
      compare: [this.lead.condition],
      success: [operation],
      failure: [],
    });
    if (!answer.succeeded) throw this.lead.lose();
    return answer.responses[0]?.response_range?.kvs ?? [];
  }

  async #transact(request: object): Promise<{ answer: TransactionAnswer; repeated: boolean }> {
    this.lead.lost.throwIfAborted();
    const { body, repeated } = await this.client.call('/v3/kv/txn', request);
    return { answer: readShape(transactionAnswer, body), repeated };
  }
}
