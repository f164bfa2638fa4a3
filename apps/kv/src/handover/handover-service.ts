import type { Subscription } from '@rdmc/common';
import { readShape } from '@rdmc/common/shapes';
import type { Mesh } from '@rdmc/mesh';
import type { CoordinatorClient } from '@rdmc/tailwind/coordinator';
import { broughtMessage, dropMessage, handOverMessage, incomingMessage, Topic } from '../cluster/messages.js';
import { KvError } from '../errors.js';
import type { Incoming } from './incoming.js';
import { Outgoing, type OutgoingOptions } from './outgoing.js';
import { StopLimit } from './stop-limit.js';

export interface HandOverServiceOptions extends Omit<OutgoingOptions, 'stopLimit'> {
  readonly mesh: Pick<Mesh, 'request' | 'id' | 'onRequest'>;
  readonly coordinator: Pick<CoordinatorClient, 'request' | 'onRequest'>;
  readonly incoming: Incoming;
}

/** Answers the requests of coordinator and servers in hand-overs, from its construction on. One leaves this server at a time. */
export class HandOverService {
  readonly #subscriptions: readonly Subscription[];
  readonly #stopLimit = new StopLimit();
  #isBusy = false;

  constructor(private readonly options: HandOverServiceOptions) {
    const { mesh, coordinator, incoming, ended, table } = options;
    table.onUpdate(() => incoming.owned((slot) => table.owner(slot) === mesh.id));
    this.#subscriptions = [
      coordinator.onRequest(Topic.HAND_OVER, (_, body) => this.#handOver(body)),
      mesh.onRequest(Topic.INCOMING, async (_, body) => {
        const announcement = readShape(incomingMessage, body);
        const { ranges, number } = announcement;
        const isOwn = ranges.some(([first]) => table.owner(first) === mesh.id);
        if (isOwn) throw failed(number, 'this server has the slots already');
        return { floor: await incoming.begin(announcement) };
      }),
      mesh.onRequest(Topic.BROUGHT, async (_, body) => {
        await incoming.brought(readShape(broughtMessage, body), ended);
        return null;
      }),
      coordinator.onRequest(Topic.DROP, async (_, body) => {
        await incoming.drop(readShape(dropMessage, body).number);
        return null;
      }),
    ];
  }

  close(): void {
    for (const each of this.#subscriptions) each.close();
  }

  async #handOver(body: unknown) {
    const message = readShape(handOverMessage, body);
    if (this.#isBusy) throw failed(message.number, 'another one leaves this server');
    this.#isBusy = true;
    try {
      const outgoing = new Outgoing({ ...this.options, stopLimit: this.#stopLimit }, message);
      return { outcome: await outgoing.run() };
    } finally {
      this.#isBusy = false;
    }
  }
}

function failed(number: number, why: string): KvError {
  return new KvError('ERR_RDMC_KV_HANDOVER_FAILED', `hand-over ${number} failed: ${why}`);
}
