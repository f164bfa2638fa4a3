import type { MessagePort } from 'node:worker_threads';
import { Deferred } from '@rdmc/common';
import { CastError, givenUp } from '../errors.js';
import type { SinkAnswer, SinkOrder } from './sink-orders.js';

/** The writer's end of the port to the sinks. */
export class SinkPort {
  #answer: Deferred<void> | undefined;
  #over = false;

  constructor(private readonly port: MessagePort) {
    port.on('message', (answer: SinkAnswer) => this.#settle(answer));
    port.on('close', () => this.giveUp());
  }

  /** Sends an order; resolves when it is done. One at a time. @throws CastError of the sink; ERR_RDMC_ABORTED */
  async order(order: SinkOrder): Promise<void> {
    if (this.#over) throw givenUp();
    const answer = new Deferred<void>();
    this.#answer = answer;
    this.port.postMessage(order, order.type === 'data' ? [order.bytes.buffer as ArrayBuffer] : []);
    await answer.promise;
  }

  /** The order in progress rejects. Idempotent. */
  giveUp(): void {
    this.#over = true;
    this.#answer?.reject(givenUp());
  }

  close(): void {
    this.giveUp();
    this.port.close();
  }

  #settle({ error }: SinkAnswer): void {
    const answer = this.#answer;
    this.#answer = undefined;
    if (error) answer?.reject(new CastError(error.code, error.message));
    else answer?.resolve();
  }
}
