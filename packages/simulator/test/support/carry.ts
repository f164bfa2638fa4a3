import { Call, Clock } from '../../src/clock.js';
import { Flow, Link } from '../../src/flow.js';
import { Network } from '../../src/network.js';

const PORTS = 10;
/** Bytes per microsecond. */
export const PORT_RATE = 10;

export interface Started {
  readonly from: number;
  readonly to: number;
  readonly bytes: number;
  readonly at: number;
}

export interface Carried {
  /** Bytes of the flows that have ended. */
  readonly carried: number;
  /** Flows that have not ended. */
  readonly left: number;
  /** When each flow ended. */
  readonly ends: readonly number[];
  readonly end: number;
}

class CarriedFlow extends Flow {
  constructor(
    path: readonly Link[],
    bytes: number,
    private readonly onEnd: (flow: Flow) => void,
  ) {
    super(path, bytes);
  }

  fire(): void {
    this.onEnd(this);
  }
}

/** Flows between ten ports of ten bytes per microsecond, each way. */
export function carry(
  list: readonly Started[],
  { roundTime = 0, bucketBytes = 0 }: { readonly roundTime?: number; readonly bucketBytes?: number } = {},
): Carried {
  const clock = new Clock();
  const network = new Network(clock, roundTime);
  const ports = (way: string) =>
    Array.from({ length: PORTS }, (_, port) => new Link(`${way} ${port}`, PORT_RATE, bucketBytes));
  const [out, into] = [ports('out'), ports('in')];
  let carried = 0;
  const ends: number[] = [];
  for (const [index, { from, to, bytes, at }] of list.entries()) {
    const flow = new CarriedFlow([out[from]!, into[to]!], bytes, (ended) => {
      network.end(ended);
      carried += ended.bytes;
      ends[index] = clock.now;
    });
    clock.schedule(new Call(() => network.start(flow)), at);
  }
  clock.run(() => network.settle());
  return { carried, left: network.active, ends, end: clock.now };
}
