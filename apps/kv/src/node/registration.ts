import { setTimeout as delay } from 'node:timers/promises';
import { Deferred, type Subscription, within } from '@rdmc/common';
import type { CoordinatorClient } from '@rdmc/tailwind/coordinator';
import { Topic } from '../cluster/messages.js';
import { codeOf } from '../errors.js';
import { REGISTER_RETRY_MS } from '../limits.js';

export interface RegistrationOptions {
  readonly coordinator: Pick<CoordinatorClient, 'lead' | 'onLead' | 'request'>;
  readonly logId: bigint;
  /** Backups that the log needs. */
  readonly replicas: number;
  /** Aborted when this server ends. */
  readonly ended: AbortSignal;
  /** The coordinator has declared this server dead. */
  readonly onRefused: (error: unknown) => void;
}

/** Tells the coordinator which log this server has, and each coordinator that follows. */
export class Registration {
  readonly #subscription: Subscription;
  readonly #first = new Deferred<void>();
  /** Counts the coordinators, and the connections with them: what was begun for an earlier one ends. */
  #events = 0;

  constructor(private readonly options: RegistrationOptions) {
    this.#subscription = options.coordinator.onLead(() => this.#follow());
    if (options.coordinator.lead) this.#follow();
  }

  /** Resolves when a coordinator knows the log. @throws the coordinator's refusal; the reason of the end of this server */
  async registered(): Promise<void> {
    await within(this.#first.promise, { signal: this.options.ended });
  }

  close(): void {
    this.#subscription.close();
    this.#events += 1;
  }

  #follow(): void {
    this.#events += 1;
    void this.#register(this.#events);
  }

  /** Until it is answered, or the coordinator is another one. */
  async #register(event: number): Promise<void> {
    const { coordinator, logId, replicas, ended, onRefused } = this.options;
    while (this.#events === event && !ended.aborted) {
      try {
        await coordinator.request(Topic.REGISTER, { logId: String(logId), replicas });
        this.#first.resolve();
        return;
      } catch (error) {
        if (codeOf(error) === 'ERR_RDMC_LOG_FENCED') {
          onRefused(error);
          return;
        }
      }
      await delay(REGISTER_RETRY_MS, undefined, { signal: ended }).catch(() => {});
    }
  }
}
