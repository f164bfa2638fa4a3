import type { TraceEvent, TraceSink, TraceSubject } from '@rdmc/dataplane/trace';
import type { Clock } from './clock.js';

/** Takes what the machines of live groups would record, with simulated time. */
export class LiveTrace {
  readonly events: TraceEvent[] = [];

  constructor(private readonly clock: Clock) {}

  /** The sink of one member. */
  of(member: number): TraceSink {
    return {
      put: ({ protocolBits, group }: TraceSubject, kind, message, block, peer) => {
        const time = Math.round(this.clock.now * 1000);
        this.events.push({ time, member, kind, protocol: protocolBits >>> 8, group, message, block, peer });
      },
    };
  }
}
