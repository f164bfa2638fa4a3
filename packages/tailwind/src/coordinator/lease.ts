import type { Clock } from '../clock.js';
import { LEASE_RENEWALS } from '../constants.js';
import { codeOf, TailwindError } from '../errors.js';

/**
 * The right to serve reads for a while. Reads do not involve backups, so a primary that was fenced would not notice;
 * it must serve only while its lease is valid. Check `valid` after the value was read and before it is answered.
 */
export class Lease implements Disposable {
  #expiresAt = Number.NEGATIVE_INFINITY;
  #grantedAt = Number.POSITIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;
  #closing: () => void = () => {};

  /** @param ask resolves with the milliseconds of a new lease, or rejects with the reason of a refusal */
  constructor(
    private readonly ask: () => Promise<number>,
    private readonly clock: Clock,
  ) {}

  /** A clock that goes backwards (a machine restored from an image) ends a lease as well. */
  get valid(): boolean {
    const now = this.clock();
    return !this.#closed && now >= this.#grantedAt && now < this.#expiresAt;
  }

  /** @throws TailwindError ERR_RDMC_LEASE_EXPIRED */
  assertValid(): void {
    if (this.valid) return;
    throw new TailwindError(
      'ERR_RDMC_LEASE_EXPIRED',
      'This member does not hold a lease on its log now: another member may own the log already, so reads are refused',
    );
  }

  /** Counts from the moment of asking, so it never outlasts the coordinator's record. @throws the errors of `ask` */
  async renew(): Promise<void> {
    const askedAt = this.clock();
    let leaseMs: number | undefined;
    try {
      leaseMs = await this.ask();
      this.#grantedAt = askedAt;
      this.#expiresAt = askedAt + leaseMs;
    } finally {
      this.#schedule(leaseMs ?? 1000);
    }
  }

  /** Renews the lease before it is due, for example because another coordinator grants it now. */
  renewNow(): void {
    if (!this.#closed) this.#renewSurely();
  }

  /** @internal Called once, when the lease is closed. */
  onClose(listener: () => void): void {
    this.#closing = listener;
  }

  /** Ends the renewals; the lease expires by itself. Idempotent. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#closing();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #schedule(leaseMs: number): void {
    clearTimeout(this.#timer);
    if (this.#closed) return;
    this.#timer = setTimeout(() => this.#renewSurely(), leaseMs / LEASE_RENEWALS).unref();
  }

  #renewSurely(): void {
    this.renew().catch((error: unknown) => {
      if (codeOf(error) === 'ERR_RDMC_LOG_FENCED') this.close();
    });
  }
}
