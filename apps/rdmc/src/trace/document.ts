import { namesOf, summarise, type TraceSummary } from '@rdmc/dataplane/trace';
import * as z from 'zod';
import type { WholeTrace } from './whole-trace.js';

const count = z.number().int().nonnegative();
const positive = z.number().nonnegative();
const member = count;

/** Who delays whom: `rdmc trace summary --json`, and a part of other documents. Times in seconds, shares 0 to 1. */
export const traceSummaryDocument = z.strictObject({
  seconds: positive,
  records: count,
  /** Records that were lost because a ring was full. */
  dropped: count,
  members: z.array(
    z.strictObject({
      member,
      /** Such as its host, if the trace has one. */
      name: z.string().nullable(),
      waitingSeconds: positive,
      waits: z.array(
        z.strictObject({
          for: z.enum(['block', 'ready', 'sent', 'application']),
          peer: member.nullable(),
          seconds: positive,
          share: positive,
        }),
      ),
      blocksReceived: count,
      blocksSent: count,
      firstBlockCopies: count,
      wakeUps: count,
    }),
  ),
  causes: z.array(
    z.strictObject({
      kind: z.enum(['link', 'application', 'member']),
      members: z.array(member),
      seconds: positive,
      share: positive,
    }),
  ),
  slowest: z.strictObject({ members: z.array(member), share: positive }).nullable(),
  messages: count,
  /** Between the first and the last receiver of a message. */
  skew: z.strictObject({ medianSeconds: positive, mostSeconds: positive, mostOftenLast: member }).nullable(),
});
/** The document of {@link traceSummaryDocument}. */
export type TraceSummaryDocument = z.infer<typeof traceSummaryDocument>;

const NS = 1e9;

/** The summary of a trace, as programs read it. */
export function traceDocument({ events, dropped }: Pick<WholeTrace, 'events' | 'dropped'>) {
  const { ns, records, members, causes, slowest, skews } = summarise(events);
  const names = namesOf(events);
  const document: TraceSummaryDocument = {
    seconds: ns / NS,
    records,
    dropped,
    members: members.map(({ waitingNs, waits, ...rest }) => ({
      ...rest,
      name: names.get(rest.member) ?? null,
      waitingSeconds: waitingNs / NS,
      waits: waits.map(({ reason, peer, ns, share }) => ({ for: reason, peer, seconds: ns / NS, share })),
    })),
    causes: causes.map(({ kind, members, ns, share }) => {
      return { kind, members: [...members], seconds: ns / NS, share };
    }),
    slowest: slowest && { members: [...slowest.members], share: slowest.share },
    messages: skews.length,
    skew: skewOf(skews),
  };
  return document;
}

function skewOf(skews: TraceSummary['skews']): TraceSummaryDocument['skew'] {
  if (skews.length === 0) return null;
  const order = skews.map(({ ns }) => ns / NS).sort((a, b) => a - b);
  const lasts = new Map<number, number>();
  for (const { last } of skews) lasts.set(last, (lasts.get(last) ?? 0) + 1);
  return {
    medianSeconds: order[order.length >> 1]!,
    mostSeconds: order.at(-1)!,
    mostOftenLast: [...lasts].sort(([, a], [, b]) => b - a)[0]![0],
  };
}
