import type { MessagePort, TransferListItem } from 'node:worker_threads';
import { Deferred } from '@rdmc/common';
import { CastError, givenUp } from '../errors.js';
import type { SinkFailure } from './file-taker.js';

/** The writer's end of a port to the application's thread: sends one order, and waits for its answer. */
export class OrderPort<Order, Answer extends { readonly error?: SinkFailure }> {
  #answer: Deferred<Answer> | undefined;
  #over = false;

  constructor(private readonly port: MessagePort) {
    port.on('message', (answer: Answer) => this.#settle(answer));
    port.on('close', () => this.giveUp());
  }

  /** Sends an order; resolves when it is done. One at a time. @throws CastError of the application; ERR_RDMC_ABORTED */
  async order(order: Order, transfer: readonly TransferListItem[] = []): Promise<Answer> {
    if (this.#over) throw givenUp();
    const answer = new Deferred<Answer>();
    this.#answer = answer;
    this.port.postMessage(order, [...transfer]);
    return answer.promise;
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

  #settle(reply: Answer): void {
    const answer = this.#answer;
    this.#answer = undefined;
    if (reply.error) answer?.reject(new CastError(reply.error.code, reply.error.message));
    else answer?.resolve(reply);
  }
}
