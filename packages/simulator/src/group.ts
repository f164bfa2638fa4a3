import { type Algorithm, createSchedule, type ScheduleOptions } from '@rdmc/schedule';

/** One group: who is in it, and what its root sends. */
export interface SimulatedGroup {
  /** The node of each rank; the root first. */
  readonly members: readonly number[];
  readonly algorithm: Algorithm;
  /** Of each message. */
  readonly byteLength: number;
  readonly blockBytes: number;
  readonly messages: number;
  /** Messages that the root gives to its worker before the first of them is complete everywhere. */
  readonly inFlight: number;
  /** The rack of each rank, if there are racks. */
  readonly racks: readonly number[] | undefined;
}

/** Blocks of one message; an empty message has one empty block. */
export function blocksOf({ byteLength, blockBytes }: SimulatedGroup): number {
  return Math.max(1, Math.ceil(byteLength / blockBytes));
}

/** Transfers of all messages of a group. */
export function transfersOf(group: SimulatedGroup): number {
  return (group.members.length - 1) * blocksOf(group) * group.messages;
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
