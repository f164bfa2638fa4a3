import { printable } from '../ui/printable.js';
import { formatCount, formatSeconds, plural } from '../ui/units.js';
import type { TraceSummaryDocument } from './document.js';

type Member = TraceSummaryDocument['members'][number];
type Wait = Member['waits'][number];

/** Waits below this share of a member's waiting are left out. */
const LEAST_SHARE = 0.05;
const MOST_WAITS = 3;
const MOST_MEMBERS = 16;

/** Who delays whom, in a few lines. */
export function describeDelays(summary: TraceSummaryDocument): string[] {
  const { seconds, records, dropped, members } = summary;
  const labelOf = labelsOf(summary);
  const all = members.reduce((sum, { waitingSeconds }) => sum + waitingSeconds, 0);
  const waiting = members.filter(({ waitingSeconds }) => waitingSeconds > 0);
  const shown = [...waiting].sort((a, b) => b.waitingSeconds - a.waitingSeconds).slice(0, MOST_MEMBERS);
  const hidden = waiting.length - shown.length;
  return [
    `Who delays whom: ${formatSeconds(all)} of waiting at ${plural(members.length, 'member')} in ${formatSeconds(seconds)}`,
    ...shown.sort((a, b) => a.member - b.member).map((each) => describeMember(each, labelOf)),
    ...(hidden > 0 ? [`  and ${plural(hidden, 'member')} with less waiting`] : []),
    ...describeSlowest(summary, labelOf),
    ...describeSkew(summary, labelOf),
    ...(dropped > 0
      ? [`  ${plural(dropped, 'record')} of ${formatCount(records + dropped)} dropped: a ring was full`]
      : []),
  ];
}

type LabelOf = (member: number | null) => string;

/** Ids, with the names that the trace has. */
function labelsOf({ members }: TraceSummaryDocument): LabelOf {
  const names = new Map(members.map(({ member, name }) => [member, name]));
  return (member) => {
    const name = member === null ? null : names.get(member);
    return name ? `${member} (${printable(name)})` : String(member);
  };
}

function percent(share: number): string {
  return `${Math.round(share * 100)}%`;
}

function describeMember({ member, waitingSeconds, waits }: Member, labelOf: LabelOf): string {
  const parts = waits.filter(({ share }) => share >= LEAST_SHARE).slice(0, MOST_WAITS);
  return `  member ${labelOf(member).padEnd(4)} waited ${formatSeconds(waitingSeconds).padStart(8)}: ${parts.map((wait) => describeWait(wait, labelOf)).join(', ')}`;
}

function describeWait({ for: what, peer, share }: Wait, labelOf: LabelOf): string {
  const of = {
    block: `blocks of ${labelOf(peer)}`,
    ready: `the announcements of ${labelOf(peer)}`,
    sent: `its sends to ${labelOf(peer)}`,
    application: 'its own application',
  };
  return `${percent(share)} for ${of[what]}`;
}

function describeSlowest({ slowest, causes }: TraceSummaryDocument, labelOf: LabelOf): string[] {
  if (!slowest) return ['  nobody waited'];
  const { members, share } = slowest;
  const [first] = causes.filter((cause) => cause.members.includes(members[0]!));
  const where = {
    link:
      members.length === 2
        ? `the link between ${members.map(labelOf).join(' and ')}`
        : `the links of member ${labelOf(members[0]!)}`,
    application: `member ${labelOf(members[0]!)}, its application first of all`,
    member: `member ${labelOf(members[0]!)} itself`,
  };
  return [`  ${percent(share)} of all waiting comes down to ${where[first!.kind]}`];
}

function describeSkew({ skew, messages }: TraceSummaryDocument, labelOf: LabelOf): string[] {
  if (!skew) return [];
  const { medianSeconds, mostSeconds, mostOftenLast } = skew;
  const range =
    messages === 1
      ? formatSeconds(mostSeconds)
      : `median ${formatSeconds(medianSeconds)}, most ${formatSeconds(mostSeconds)}`;
  return [
    `  first to last receiver of ${plural(messages, 'message')}: ${range}; most often last: member ${labelOf(mostOftenLast)}`,
  ];
}
