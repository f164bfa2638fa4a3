/** Streams of numbered messages: exactly once, in order, under load. */
import type { SendWorkRequest } from '@rdmc/verbs';
import { drain, takeCompletions } from './queue-calls.js';
import type { AgentState } from './state.js';

const NUMBER_BYTES = 8;

export interface StreamEnd {
  readonly qp: number;
  readonly cq: number;
  readonly count: number;
  readonly window: number;
}

export function streamCalls(state: AgentState) {
  return {
    /** Sends `count` messages, each with its number inline and as immediate; `window` are outstanding. */
    async sendNumbers(args: StreamEnd): Promise<void> {
      const qp = state.get('qp', args.qp);
      const queue = state.get('cq', args.cq);
      let underWay = 0;
      for (let next = 0; next < args.count || underWay > 0; ) {
        const requests: SendWorkRequest[] = [];
        for (; underWay < args.window && next < args.count; next += 1, underWay += 1) {
          const inline = new Uint8Array(NUMBER_BYTES);
          new DataView(inline.buffer).setUint32(0, next, true);
          requests.push({ id: next, opcode: 'SEND_WITH_IMM', inline, immediate: next });
        }
        if (requests.length > 0) qp.postSend(...requests);
        for (const { status } of await takeCompletions(queue, Math.max(1, underWay >> 1))) {
          if (status !== 'SUCCESS') throw new Error(`a message ended with ${status}`);
          underWay -= 1;
        }
      }
    },

    /** Receives `count` numbered messages into a ring of `window` slots; returns the first out of order, or null. */
    async receiveNumbers(
      args: StreamEnd & { region: number },
    ): Promise<{ at: number; immediate: number | undefined; number: number } | null> {
      const qp = state.get('qp', args.qp);
      const queue = state.get('cq', args.cq);
      const region = state.get('region', args.region);
      const numbers = new DataView(region.view().buffer, region.view().byteOffset);
      const slot = (id: number): number => (id % args.window) * NUMBER_BYTES;
      const post = (id: number): void => qp.postReceive({ id, sges: [region.sge(slot(id), NUMBER_BYTES)] });
      for (let id = 0; id < args.window; id += 1) post(id);
      for (let at = 0; at < args.count; at += 1) {
        drain(queue);
        const [done] = await takeCompletions(queue, 1);
        const number = numbers.getUint32(slot(at), true);
        if (done!.id !== at || done!.immediate !== at || number !== at || done!.byteLength !== NUMBER_BYTES) {
          return { at, immediate: done!.immediate, number };
        }
        post(at + args.window);
      }
      return null;
    },
  };
}
