/**
 * The messages of servers and coordinator on the mesh. Those of the coordinator are orders: each carries its term, and so do
 * requests of servers to it (`Coordinator.channel`, `CoordinatorClient.request`). Log ids are text, because JSON does not have 64-bit
 * numbers.
 */
import {
  choice,
  finite,
  flag,
  list,
  openRecord,
  pattern,
  type Shaped,
  text,
  tuple,
  whole,
  withDefault,
} from '@rdmc/common/shapes';
import { divisionShape } from '@rdmc/tailwind';
import { SLOTS } from '../limits.js';
import { NOBODY } from './slot-table.js';

/** The id of the coordinator in the list of members; servers have 1, 2, … and standby coordinators those above. */
export const COORDINATOR = 0;
export const MAX_SERVER_ID = 10_000;

export function isServer(member: number): boolean {
  return member > COORDINATOR && member <= MAX_SERVER_ID;
}

/** The id of a standby coordinator with a number from 1 up. */
export function standbyId(number: number): number {
  return MAX_SERVER_ID + number;
}

/** The number of a coordinator: 0 is the one in the list of members. */
export function standbyNumber(member: number): number {
  return member === COORDINATOR ? 0 : member - MAX_SERVER_ID;
}

/** A member's name for people. */
export function memberName(member: number): string {
  if (isServer(member)) return `server ${member}`;
  return member === COORDINATOR ? 'the coordinator' : `standby coordinator ${standbyNumber(member)}`;
}

/** A member that is not reached any more. */
export interface MemberLoss {
  /** `left`: it closed its mesh; `lost`: it failed. */
  readonly type: 'left' | 'lost';
  /** A server (1, 2, …) or the coordinator (0). */
  readonly member: number;
  /** For people. */
  readonly reason: string;
}

/** That of a member that closed its mesh. */
export function leaveOf(member: number): MemberLoss {
  return { type: 'left', member, reason: 'it left' };
}

export const Topic = {
  /** server → coordinator: this is my log */
  REGISTER: 'kv.register',
  /** coordinator → all: the server of each slot */
  TABLE: 'kv.table',
  /** coordinator → one server: recover a log, and have these pull its keys */
  TAKEOVER: 'kv.takeover',
  /** recovering server → coordinator: I am the only one who can end this recovery now; may I? */
  PLAN: 'kv.plan',
  /** coordinator → each heir: which version do the entries that you get of a takeover come after? */
  FLOOR: 'kv.floor',
  /** recovering server → each heir: pull your part from the backups; answered when it is durable */
  PULL: 'kv.pull',
  /** coordinator → others: forget what you got */
  ABANDON: 'kv.abandon',
  /** coordinator → each server: with which of these processes are you connected? */
  REACH: 'kv.reach',
  /** server → coordinator and others: what are you, and what do you have? */
  STATUS: 'kv.status',
  /** coordinator → one server: hand slots over to another one; answered with the outcome */
  HAND_OVER: 'kv.hand-over',
  /** server → coordinator: may this process be a member, and in which formats does it write? coordinator → all: those of a higher level */
  LEVEL: 'kv.level',
  /** server → coordinator: an operator raises the level of the cluster */
  FINALIZE: 'kv.finalize',
  /** server → coordinator: what an operator wants */
  MANAGE: 'kv.manage',
  /** source → target: slots come, over this connection; answered with the floor of their tenure */
  INCOMING: 'kv.incoming',
  /** source → target: so many frames so far; answered when they are durable */
  BROUGHT: 'kv.brought',
  /** source → coordinator: the target has everything, or cannot have it: whose are the slots? */
  SETTLE: 'kv.settle',
  /** coordinator → target: a hand-over was cancelled */
  DROP: 'kv.drop',
  /** a further run of the coordinator → each server: takeovers of former runs are over; forget what you got of them */
  RESET: 'kv.reset',
} as const;

const slot = whole(0, SLOTS - 1);
const member = whole(0);
/** In a table a slot may have no server. */
const server = whole(NOBODY);
const logId = pattern(/^\d{1,20}$/);
const takeover = whole(0);

/** `replicas` are the backups that the log needs. */
export const registerMessage = openRecord({ logId, replicas: withDefault(whole(0), 0) });
/** The number of backups of a server whose release does not tell it. */
export const NOT_TOLD = -1;
/**
 * `segmentBytes` of the server's log; 0: it has none, or its release does not tell it. `replicas`: the backups that its log needs.
 * `isRunning`: it was admitted by an earlier coordinator, or by an earlier connection with this one.
 */
export const enlistMessage = openRecord({
  segmentBytes: withDefault(whole(0), 0),
  replicas: withDefault(whole(NOT_TOLD), NOT_TOLD),
  isRunning: withDefault(flag, false),
});
export const tableMessage = openRecord({
  epoch: whole(),
  ranges: list(tuple(slot, slot, server)),
  /** Servers that are to go: they must not get replicas. */
  drained: withDefault(list(member), []),
});
/** A part of a dead server's slots, and the server and log that get it. */
const share = openRecord({ member, logId, ranges: list(tuple(slot, slot)) });
/** Of the dead log's tenures: see `tenure.ts`. */
const floors = list(tuple(slot, slot, whole(0)));
export const takeoverMessage = openRecord({ takeover, logId, shares: list(share), floors });
export const takeoverAnswer = openRecord({ entries: finite(), milliseconds: finite() });
/** In place of that: it failed, because the logs of these heirs do not have room. A coordinator of an earlier release refuses it. */
export const heirsFullAnswer = openRecord({ full: list(member, 1), reason: text() });
export const planMessage = openRecord({ takeover });
export const floorMessage = openRecord({ takeover, ranges: list(tuple(slot, slot)) });
/** A version of the heir's log. */
export const floorAnswer = openRecord({ floor: whole(0) });
export const pullMessage = openRecord({ takeover, division: divisionShape, floors });
export const pullAnswer = openRecord({ entries: whole() });
export const abandonMessage = openRecord({ takeover, ranges: list(tuple(slot, slot)) });

/** Takeovers and hand-overs have one series of numbers. */
const number = takeover;
const version = whole(0);
const someRanges = list(tuple(slot, slot), 1);
export const handOverMessage = openRecord({ number, ranges: someRanges, target: member });
export const handOverAnswer = openRecord({ outcome: choice(['moved', 'kept']) });
/** `bytes`: the size of the slots' entries in the source's log. */
export const incomingMessage = openRecord({
  number,
  ranges: someRanges,
  session: text(),
  version,
  bytes: whole(0),
});
export const broughtMessage = openRecord({ number, frames: whole(0), isLast: flag, version });
/** `logId` is the source's. `target`: where the coordinator does not know the hand-over any more; 0: not told. */
export const settleMessage = openRecord({
  number,
  ranges: someRanges,
  logId,
  floor: version,
  isReady: flag,
  target: withDefault(member, 0),
});
/** Slot tables above the epoch have the outcome. */
export const settleAnswer = openRecord({ outcome: choice(['moved', 'kept']), epoch: whole(0) });
export const manageMessage = openRecord({
  op: choice(['rebalance', 'drain', 'undrain', 'remove']),
  /** 0 with 'rebalance'. */
  server: withDefault(member, 0),
});
export const dropMessage = openRecord({ number });

/** All takeovers below this number are over. The ranges are those that the server does not own. */
export const resetMessage = openRecord({ below: takeover, ranges: list(tuple(slot, slot)) });

/** One process of a server: the incarnation is the mesh's. */
const serverProcess = openRecord({ member, incarnation: whole() });
export const reachMessage = openRecord({ processes: list(serverProcess) });
/** In the order of the processes. */
export const reachAnswer = openRecord({ reached: list(flag) });

export type ServerProcess = Shaped<typeof serverProcess>;
export type HeirsFullAnswer = Shaped<typeof heirsFullAnswer>;
export type Share = Shaped<typeof share>;
export type EnlistMessage = Shaped<typeof enlistMessage>;
export type HandOverMessage = Shaped<typeof handOverMessage>;
export type ManageMessage = Shaped<typeof manageMessage>;
export type SettleMessage = Shaped<typeof settleMessage>;
export type TakeoverMessage = Shaped<typeof takeoverMessage>;
export type PullMessage = Shaped<typeof pullMessage>;
