import { type Subscription, Tracer } from '@rdmc/common';
import { readShape } from '@rdmc/common/shapes';
import type { Incoming } from '../handover/incoming.js';
import { HeirsFull } from './heirs-full.js';
import {
  abandonMessage,
  floorMessage,
  type HeirsFullAnswer,
  pullMessage,
  resetMessage,
  Topic,
  takeoverMessage,
} from './messages.js';
import { pullPart, type TakeoverOptions, takeOver } from './takeover.js';

interface TakeoverTrace {
  readonly id: number;
  readonly takeover: number;
  readonly logId: string;
}

const takeoverTrace = new Tracer<TakeoverTrace>('@rdmc/kv:takeover');

export interface TakeoverServiceOptions extends TakeoverOptions {
  /** Slots that living servers hand over to this one. */
  readonly incoming: Pick<Incoming, 'yield' | 'reset'>;
}

/** Answers the requests of coordinator and servers in a takeover, from its construction on. */
export class TakeoverService {
  readonly #subscriptions: readonly Subscription[];

  constructor(options: TakeoverServiceOptions) {
    const { mesh, coordinator, imports, incoming } = options;
    this.#subscriptions = [
      coordinator.onRequest(Topic.TAKEOVER, (_, body) => {
        const message = readShape(takeoverMessage, body);
        const { takeover, logId } = message;
        const taken = takeoverTrace.promise(
          () => ({ id: mesh.id, takeover, logId }),
          () => takeOver(options, message),
        );
        return taken.catch(answerOf);
      }),
      mesh.onRequest(Topic.PULL, (_, body) => pullPart(options, readShape(pullMessage, body))),
      coordinator.onRequest(Topic.FLOOR, async (_, body) => {
        const { takeover, ranges } = readShape(floorMessage, body);
        incoming.yield(takeover, ranges);
        return { floor: await imports.floor(takeover, ranges) };
      }),
      coordinator.onRequest(Topic.ABANDON, async (_, body) => {
        const { takeover, ranges } = readShape(abandonMessage, body);
        await imports.abandon(takeover, ranges);
        return null;
      }),
      coordinator.onRequest(Topic.RESET, async (_, body) => {
        const { below, ranges } = readShape(resetMessage, body);
        incoming.reset(below);
        await imports.reset(below, ranges);
        return null;
      }),
    ];
  }

  close(): void {
    for (const each of this.#subscriptions) each.close();
  }
}

/** The error of an answer has a code and a text only: which heirs were full would be lost. */
function answerOf(error: unknown): HeirsFullAnswer {
  if (!(error instanceof HeirsFull)) throw error;
  return { full: [...error.members], reason: error.reason };
}
