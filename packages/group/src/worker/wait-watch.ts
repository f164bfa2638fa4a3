import { NONE, TraceKind } from '@rdmc/dataplane/trace';
import type { GroupTrace, Wait } from './group-trace.js';
import type { OpenMessage } from './open-message.js';
import type { SendSide } from './send-side.js';

/**
 * Records what a member waits for, after each turn of its machine. A member has one answer at a time: what its next
 * send needs; without a next send, the block that comes next; without that, the completion of its sends.
 */
export class WaitWatch {
  constructor(
    private readonly trace: GroupTrace,
    private readonly sendSide: SendSide,
    private readonly open: readonly OpenMessage[],
  ) {}

  look(): void {
    this.trace.waits(this.#wait());
  }

  #wait(): Wait {
    const message = this.sendSide.current ?? this.open[0];
    if (!message) return of(TraceKind.WAITS_FOR_NOTHING, NONE, NONE, -1);
    const { number } = message;
    if (!message.placed) return of(TraceKind.WAITS_FOR_APPLICATION, number, NONE, -1);
    const { sends } = message.plan;
    if (sends.has(message.sendsPosted)) return this.#forSend(message, message.sendsPosted);
    if (message.received < message.blocks) return this.#forBlock(message);
    const oldest = this.trace.oldestSend;
    return of(TraceKind.WAITS_FOR_SENT, number, oldest?.block ?? NONE, oldest?.pair ?? -1);
  }

  #forSend(message: OpenMessage, index: number): Wait {
    const { number } = message;
    const block = message.plan.sends.block(index);
    const pair = message.plan.sends.pair(index);
    if (!message.has(block)) {
      return of(TraceKind.WAITS_FOR_BLOCK, number, block, this.trace.senderOf(number, block));
    }
    if (this.sendSide.isFull) {
      const oldest = this.trace.oldestSend!;
      return of(TraceKind.WAITS_FOR_SENT, oldest.message, oldest.block, oldest.pair);
    }
    return of(TraceKind.WAITS_FOR_READY, number, block, pair);
  }

  /** A member that has nothing left to send waits for the receive that was posted first. */
  #forBlock({ number }: OpenMessage): Wait {
    const next = this.trace.oldestReceive;
    return of(TraceKind.WAITS_FOR_BLOCK, number, next?.block ?? NONE, next?.pair ?? -1);
  }
}

function of(kind: Wait['kind'], message: number, block: number, pair: number): Wait {
  return { kind, message, block, pair };
}
