import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf, TailwindError } from '../errors.js';
import type { EtcdClient } from './etcd-store-client.js';
import {
  hasCreateRevision,
  keepAliveAnswer,
  leaseGrantAnswer,
  readKey,
  transactionAnswer,
  writeKey,
} from './etcd-store-messages.js';
import type { CheckedEtcdOptions } from './etcd-store-options.js';

const LEAD_KEY = 'lead';
const POLL_MS = 200;
/** The lease is renewed this many times before it would run out. */
const RENEWALS = 3;

/**
 * The right to act as the coordinator: a key that lives as long as a lease of etcd. Whoever made the key leads, and
 * every read and write of the store is a transaction that checks it is still that key. So one that was stopped or cut
 * off, and replaced, does nothing more, whatever it believes. Once lost it is not taken again: what the coordinator
 * remembers of leases may be out of date by then.
 */
export class EtcdLead {
  readonly #lost = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  private constructor(
    private readonly client: EtcdClient,
    private readonly options: CheckedEtcdOptions,
    private readonly lease: string,
    /** Of the key: no other leader has the same. */
    readonly revision: number,
  ) {
    this.#schedule();
  }

  /** @throws TailwindError ERR_RDMC_STATE_LOCKED, and what the client throws */
  static async take(client: EtcdClient, options: CheckedEtcdOptions): Promise<EtcdLead> {
    const grant = await client.call('/v3/lease/grant', { TTL: String(options.leadSeconds), ID: '0' });
    const { ID: lease } = leaseGrantAnswer.parse(grant.body);
    const key = leadKey(options.prefix);
    const name = `${options.name ?? `${hostname()}:${process.pid}`} ${randomUUID()}`;
    const deadline = performance.now() + options.waitMs;
    try {
      for (;;) {
        const request = {
          compare: [hasCreateRevision(key, 0)],
          success: [writeKey(key, name, lease)],
          failure: [readKey(key)],
        };
        const answer = transactionAnswer.parse((await client.call('/v3/kv/txn', request)).body);
        if (answer.succeeded) return new EtcdLead(client, options, lease, answer.header.revision);
        const [holder] = answer.responses[0]?.response_range?.kvs ?? [];
        // An attempt whose answer got lost made it.
        if (holder?.value === name) return new EtcdLead(client, options, lease, holder.create_revision);
        if (performance.now() >= deadline) throw locked(options, holder?.value);
        await client.call('/v3/lease/keepalive', { ID: lease });
        await delay(POLL_MS);
      }
    } catch (error) {
      await client.call('/v3/lease/revoke', { ID: lease }).catch(() => {});
      throw error;
    }
  }

  get key(): string {
    return leadKey(this.options.prefix);
  }

  /** Aborted when another coordinator leads, or nobody. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** What every transaction of the leader compares. */
  get condition(): object {
    return hasCreateRevision(this.key, this.revision);
  }

  lose(): TailwindError {
    const error = new TailwindError(
      'ERR_RDMC_STATE_LOST',
      `This coordinator does not lead '${this.options.prefix}' any more: it was silent for too long, and another one may ` +
        'act by now. Start it anew',
    );
    clearTimeout(this.#timer);
    this.#lost.abort(error);
    return this.#lost.signal.reason as TailwindError;
  }

  /** Lets another one lead at once. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    if (!this.#lost.signal.aborted)
      await this.client.call('/v3/lease/revoke', { ID: this.lease }).catch(() => {});
  }

  #schedule(): void {
    if (this.#closed || this.#lost.signal.aborted) return;
    const afterMs = (this.options.leadSeconds * 1000) / RENEWALS;
    this.#timer = setTimeout(() => void this.#renew(), afterMs).unref();
  }

  async #renew(): Promise<void> {
    try {
      const { body } = await this.client.call('/v3/lease/keepalive', { ID: this.lease });
      if (keepAliveAnswer.parse(body).result.TTL === 0) this.lose();
    } catch (error) {
      if (!this.#closed)
        this.options.logger?.warn?.({ reason: messageOf(error) }, 'etcd does not renew the lead');
    }
    this.#schedule();
  }
}

function leadKey(prefix: string): string {
  return `${prefix}${LEAD_KEY}`;
}

function locked({ prefix }: CheckedEtcdOptions, holder = 'unknown'): TailwindError {
  return new TailwindError(
    'ERR_RDMC_STATE_LOCKED',
    `Another coordinator leads '${prefix}': ${holder.split(' ')[0]}. Stop it, wait for it (waitMs), or use another prefix`,
  );
}
