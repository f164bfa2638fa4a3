import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { readShape } from '@rdmc/common/shapes';
import { codeOf, messageOf, TailwindError } from '../errors.js';
import { type EtcdClient, isNotFound } from './etcd-store-client.js';
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
 * The right to act as the coordinator: a key in etcd that lives as long as a lease of etcd. The process that created
 * the key leads. Every read and write of the store is a transaction which checks that the key is still the same one,
 * so a leader that was stopped or cut off, and replaced, cannot do anything more, whatever it believes. A lost lead is
 * not taken again: what the coordinator remembers of leases may be out of date by then.
 */
export class EtcdLead {
  readonly #lost = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  private constructor(
    private readonly client: EtcdClient,
    private readonly options: CheckedEtcdOptions,
    private readonly lease: string,
    /** Create revision of the key; every leader has another one. */
    readonly revision: number,
  ) {
    this.#schedule();
  }

  /** @throws TailwindError ERR_RDMC_STATE_LOCKED, and what the client throws */
  static async take(client: EtcdClient, options: CheckedEtcdOptions): Promise<EtcdLead> {
    const name = `${options.name ?? `${hostname()}:${process.pid}`} ${randomUUID()}`;
    const deadline = performance.now() + options.waitMs;
    let lease = await grantLease(client, options);
    const attempt = async () => {
      // The lease of a standby that was suspended, or cut off for a while, has expired.
      if (!(await keepAlive(client, lease))) lease = await grantLease(client, options);
      return takeKey(client, options, lease, name).catch(async (error: unknown) => {
        if (!isNotFound(error)) throw error;
        // The lease expired between the two.
        lease = await grantLease(client, options);
        return takeKey(client, options, lease, name);
      });
    };
    try {
      for (;;) {
        const taken = await attempt().catch((error: unknown) => {
          if (codeOf(error) !== 'ERR_RDMC_STATE_UNREACHABLE' || performance.now() >= deadline) throw error;
          options.logger?.warn?.({ reason: messageOf(error) }, 'etcd does not answer this standby');
          return { holder: undefined };
        });
        if ('revision' in taken) return new EtcdLead(client, options, lease, taken.revision);
        if (performance.now() >= deadline) throw locked(options, taken.holder);
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

  /** Aborted when another coordinator leads, or none does. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** The condition that every transaction of the leader checks. */
  get condition(): object {
    return hasCreateRevision(this.key, this.revision);
  }

  lose(): TailwindError {
    const error = new TailwindError(
      'ERR_RDMC_STATE_LOST',
      `This coordinator does not lead '${this.options.prefix}' any more: it was silent for too long, and another one may ` +
        'lead by now. Start it again',
    );
    clearTimeout(this.#timer);
    this.#lost.abort(error);
    return this.#lost.signal.reason as TailwindError;
  }

  /** Lets another coordinator lead at once. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    if (!this.#lost.signal.aborted)
      await this.client.call('/v3/lease/revoke', { ID: this.lease }).catch(() => {});
  }

  #schedule(): void {
    if (this.#closed || this.#lost.signal.aborted) return;
    const afterMs = this.options.leadMs / RENEWALS;
    this.#timer = setTimeout(() => void this.#renew(), afterMs).unref();
  }

  async #renew(): Promise<void> {
    try {
      if (!(await keepAlive(this.client, this.lease))) this.lose();
    } catch (error) {
      if (!this.#closed)
        this.options.logger?.warn?.({ reason: messageOf(error) }, 'etcd did not renew the lead');
    }
    this.#schedule();
  }
}

/** Creates the key, or returns its holder. */
async function takeKey(
  client: EtcdClient,
  options: CheckedEtcdOptions,
  lease: string,
  name: string,
): Promise<{ revision: number } | { holder: string | undefined }> {
  const key = leadKey(options.prefix);
  const request = {
    compare: [hasCreateRevision(key, 0)],
    success: [writeKey(key, name, lease)],
    failure: [readKey(key)],
  };
  const answer = readShape(transactionAnswer, (await client.call('/v3/kv/txn', request)).body);
  if (answer.succeeded) return { revision: answer.header.revision };
  const [holder] = answer.responses[0]?.response_range?.kvs ?? [];
  // An earlier attempt created it, and its answer was lost.
  if (holder?.value === name) return { revision: holder.create_revision };
  return { holder: holder?.value };
}

async function grantLease(client: EtcdClient, { leadMs }: CheckedEtcdOptions): Promise<string> {
  const { body } = await client.call('/v3/lease/grant', { TTL: String(Math.ceil(leadMs / 1000)), ID: '0' });
  return readShape(leaseGrantAnswer, body).ID;
}

/** False when the lease has expired. */
async function keepAlive(client: EtcdClient, lease: string): Promise<boolean> {
  const { body } = await client.call('/v3/lease/keepalive', { ID: lease });
  return readShape(keepAliveAnswer, body).result.TTL > 0;
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
