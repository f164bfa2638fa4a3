/**
 * The frames of a mesh whose members come and go. Braces are JSON in UTF-8.
 *
 *   type            payload
 *   12 ROSTER       {entries, marks, lost, isWhole}   what the sender knows of the members
 *   13 INTRODUCE    {entry, replace}                  the sender asks to be a member, or shows that it is one
 *   14 ADMIT        none                              the answer; the other one is a REJECT
 *   15 STOP         {code, message, holder}           the receiver does not have its id any more; nothing follows
 *
 *   entries   [[id, incarnation, instance, host, port, host of the process, process id], …]
 *   marks     [[id, incarnation], …]   incarnations up to it have left or were removed
 *   lost      [id, …]                  members that the sender has lost
 *   isWhole   the sender asks for what it does not know
 *
 * An introduction is a connection of its own. The caller's HELLO has incarnation 0 where it does not know the roster; then
 * a ROSTER follows its CONFIRM. The caller sends INTRODUCE, and after the answer the connection ends.
 */
import { flag, list, openRecord, pattern, text, tuple, whole } from '@rdmc/common/shapes';
import { MAX_HOST_CHARACTERS, MAX_MEMBER_ID, MAX_MEMBERS, MAX_PORT, MAX_ROSTER_MARKS } from '../constants.js';
import { decodeShape, encodeFrame, FrameType, refusal } from '../frames.js';
import { encodeJson } from '../json.js';
import type { RosterDelta, RosterEntry } from './roster.js';

export interface RosterNews extends RosterDelta {
  readonly lost: readonly number[];
  readonly isWhole: boolean;
}

export interface Introduction {
  readonly entry: RosterEntry;
  readonly replace: boolean;
}

const id = whole(0, MAX_MEMBER_ID);
const host = text(MAX_HOST_CHARACTERS);
const instance = pattern(/^[0-9a-f]{32}$/);
const entryShape = tuple(id, whole(1), instance, host, whole(1, MAX_PORT), host, whole(1));
const newsShape = openRecord({
  entries: list(entryShape, 0, MAX_MEMBERS),
  marks: list(tuple(id, whole(1)), 0, MAX_ROSTER_MARKS),
  lost: list(id, 0, MAX_MEMBERS),
  isWhole: flag,
});
const introductionShape = openRecord({ entry: entryShape, replace: flag });

type Packed = ReturnType<typeof pack>;

function pack({ id, incarnation, instance, host, port, process }: RosterEntry) {
  return [id, incarnation, instance, host, port, process.host, process.pid] as const;
}

function unpack([id, incarnation, instance, host, port, processHost, pid]: Packed): RosterEntry {
  return { id, incarnation, instance, host, port, process: { host: processHost, pid } };
}

export function encodeRoster({ entries, marks, lost, isWhole }: RosterNews): Buffer {
  const body = {
    entries: entries.map(pack),
    marks: marks.map((mark) => [mark.id, mark.incarnation]),
    lost,
    isWhole,
  };
  return encodeFrame(FrameType.ROSTER, encodeJson(body));
}

export function decodeRoster(payload: Buffer): RosterNews {
  const { entries, marks, lost, isWhole } = decodeShape(newsShape, payload);
  return {
    entries: entries.map((entry) => unpack(entry as Packed)),
    marks: marks.map(([id, incarnation]) => ({ id, incarnation })),
    lost,
    isWhole,
  };
}

export function encodeIntroduction({ entry, replace }: Introduction): Buffer {
  return encodeFrame(FrameType.INTRODUCE, encodeJson({ entry: pack(entry), replace }));
}

export function decodeIntroduction(payload: Buffer): Introduction {
  const { entry, replace } = decodeShape(introductionShape, payload);
  return { entry: unpack(entry as Packed), replace };
}

export interface StopNotice {
  readonly code: string;
  readonly message: string;
  readonly holder?: { readonly host: string; readonly pid: number } | undefined;
}

/** The notice may be an error, whose message JSON would leave out. */
export function encodeStop({ code, message, holder }: StopNotice): Buffer {
  return encodeFrame(FrameType.STOP, encodeJson({ code, message, holder }));
}

export function decodeStop(payload: Buffer): StopNotice {
  return decodeShape(refusal, payload);
}
