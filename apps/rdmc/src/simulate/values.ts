import type { PreemptionRate, SlowPair, Windows } from '@rdmc/simulator';
import { windowsByName } from '@rdmc/simulator';
import { expected } from '../values.js';

/** `shipped`, `ahead`, `paper`, `single`, or receives/sends and perhaps ready tokens: `8/2`, `2/1/1`. */
export const windows = expected(
  'shipped, ahead, paper, single, or receives/sends such as 8/2, or receives/sends/tokens',
  (text): Windows | undefined => {
    if (Object.hasOwn(windowsByName, text)) return windowsByName[text as keyof typeof windowsByName];
    const match = /^(\d{1,2})\/(\d{1,2})(?:\/(\d{1,2}))?$/.exec(text);
    if (!match) return undefined;
    const [receive, send] = [Number(match[1]), Number(match[2])];
    return match[3] === undefined ? { receive, send } : { receive, send, ready: Number(match[3]) };
  },
);

/** A slow link: `5-7:0.5`. */
export const slowLink = expected('two ranks and a ratio, such as 5-7:0.5', (text): SlowPair | undefined => {
  const match = /^(\d+)-(\d+):(\d*\.?\d+)$/.exec(text);
  return match ? { a: Number(match[1]), b: Number(match[2]), ratio: Number(match[3]) } : undefined;
});

/** Preemptions per second of each host, and their length in microseconds: `10:100`. */
export const preemptionRate = expected(
  'preemptions per second and their microseconds, such as 10:100',
  (text): PreemptionRate | undefined => {
    const match = /^(\d*\.?\d+):(\d*\.?\d+)$/.exec(text);
    return match ? { perSecond: Number(match[1]), lasts: Number(match[2]) } : undefined;
  },
);

/** How threads wait, as a polling window in milliseconds. */
export const POLLING = { hybrid: 50, interrupts: 0, polling: Number.POSITIVE_INFINITY } as const;
