import type { MessagePort } from 'node:worker_threads';
import { OrderPort } from './order-port.js';
import type { SinkAnswer, SinkOrder } from './sink-orders.js';

/** The writer's end of the port to the sinks. */
export class SinkPort {
  readonly #port: OrderPort<SinkOrder, SinkAnswer>;

  constructor(port: MessagePort) {
    this.#port = new OrderPort(port);
  }

  /** Sends an order; resolves when it is done. One at a time. @throws CastError of the sink; ERR_RDMC_ABORTED */
  async order(order: SinkOrder): Promise<void> {
    await this.#port.order(order, order.type === 'data' ? [order.bytes.buffer as ArrayBuffer] : []);
  }

  /** The order in progress rejects. Idempotent. */
  giveUp(): void {
    this.#port.giveUp();
  }

  close(): void {
    this.#port.close();
  }
}
