import { type Algorithm, createSchedule, type ScheduleOptions } from '@rdmc/schedule';

/** One group: its members, and the messages that its root sends. */
export interface SimulatedGroup {
  /** The node of each rank; the root first. */
  readonly members: readonly number[];
  readonly algorithm: Algorithm;
  /** Of each message, or of the largest one. */
  readonly byteLength: number;
  /** The length of each message, if they differ. */
  readonly byteLengths?: readonly number[] | undefined;
  readonly blockBytes: number;
  readonly messages: number;
  /** Messages that the root gives to its worker before the first of them is complete everywhere. */
  readonly inFlight: number;
  /** The rack of each rank, if there are racks. */
  readonly racks: readonly number[] | undefined;
}

/** Blocks of one message, or of the largest one; an empty message has one empty block. */
export function blocksOf({ byteLength, blockBytes }: SimulatedGroup): number {
  return blocksIn(byteLength, blockBytes);
}

/** The length of a message. */
export function lengthOf({ byteLength, byteLengths }: SimulatedGroup, message: number): number {
  return byteLengths?.[message] ?? byteLength;
}

/** Blocks of all messages of a group. */
export function allBlocksOf(group: SimulatedGroup): number {
  const { byteLengths, blockBytes, messages } = group;
  if (byteLengths === undefined) return blocksOf(group) * messages;
  return byteLengths.reduce((sum, byteLength) => sum + blocksIn(byteLength, blockBytes), 0);
}

/** Bytes of all messages of a group. */
export function allBytesOf({ byteLength, byteLengths, messages }: SimulatedGroup): number {
  return byteLengths?.reduce((sum, each) => sum + each, 0) ?? byteLength * messages;
}

/** Transfers of all messages of a group. */
export function transfersOf(group: SimulatedGroup): number {
  return (group.members.length - 1) * allBlocksOf(group);
}

function blocksIn(byteLength: number, blockBytes: number): number {
  return Math.max(1, Math.ceil(byteLength / blockBytes));
}

/** The arguments of its schedule. */
export function scheduleOf(group: SimulatedGroup): ScheduleOptions {
  const { algorithm, members, racks } = group;
  return { algorithm, nodes: members.length, blocks: blocksOf(group), racks };
}

/** Steps of its schedule. */
export function stepsOf(group: SimulatedGroup): number {
  return createSchedule(scheduleOf(group)).steps;
}
