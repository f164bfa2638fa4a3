import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { anySignal } from '@rdmc/common';
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
import { deletionOf } from './etcd-watch.js';

const LEAD_KEY = 'lead';
/** How often a standby that has no word of the leader's end looks, at most; each time it renews its own lease. */
const POLL_MAX_MS = 1_000;
/** Where etcd does not answer. */
const RETRY_MS = 200;
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
        options.signal?.throwIfAborted();
        const taken = await attempt().catch((error: unknown) => {
          if (codeOf(error) !== 'ERR_RDMC_STATE_UNREACHABLE' || performance.now() >= deadline) throw error;
          options.logger?.warn?.({ reason: messageOf(error) }, 'etcd does not answer this standby');
          return undefined;
        });
        if (taken && 'leads' in taken) return new EtcdLead(client, options, lease, taken.leads);
        const left = deadline - performance.now();
        if (left <= 0) throw locked(options, taken?.holder);
        await untilFree(client, options, left, taken?.seen);
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
): Promise<{ leads: number } | { holder: string | undefined; seen: number }> {
  const key = leadKey(options.prefix);
  const request = {
    compare: [hasCreateRevision(key, 0)],
    success: [writeKey(key, name, lease)],
    failure: [readKey(key)],
  };
  const answer = readShape(transactionAnswer, (await client.call('/v3/kv/txn', request)).body);
  const seen = answer.header.revision;
  if (answer.succeeded) return { leads: seen };
  const [holder] = answer.responses[0]?.response_range?.kvs ?? [];
  // An earlier attempt created it, and its answer was lost.
  if (holder?.value === name) return { leads: holder.create_revision };
  return { holder: holder?.value, seen };
}

/** Resolves when the leader's key is gone, and at the latest when it is time to renew the standby's own lease. */
async function untilFree(
  client: EtcdClient,
  options: CheckedEtcdOptions,
  leftMs: number,
  seen: number | undefined,
): Promise<void> {
  const { leadMs, signal, prefix } = options;
  const ended = new AbortController();
  const until = signal ? anySignal(ended.signal, signal) : ended.signal;
  const pollMs = seen === undefined ? RETRY_MS : Math.min(POLL_MAX_MS, leadMs / RENEWALS);
  const waits: Promise<void>[] = [delay(Math.min(pollMs, leftMs), undefined, { signal: until })];
  if (seen !== undefined) waits.push(watched(client, leadKey(prefix), seen + 1, until));
  try {
    await Promise.race(waits);
  } finally {
    ended.abort();
    await Promise.allSettled(waits);
    signal?.throwIfAborted();
  }
}

/** A watch that ends at once, as an etcd that restarts ends it, is not a reason to look at once. */
async function watched(
  client: EtcdClient,
  key: string,
  revision: number,
  signal: AbortSignal,
): Promise<void> {
  if (!(await deletionOf(client, key, revision, signal))) await delay(RETRY_MS, undefined, { signal });
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
