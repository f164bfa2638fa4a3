import { type Algorithm, completionTime, createSchedule, type Schedule } from '@rdmc/schedule';
import { racksOf, type Settings, type SlowLink } from './settings.js';

/** One block on its way from one member to another. Times in block times: a block on a link of full speed takes 1. */
export interface Move {
  readonly step: number;
  readonly from: number;
  readonly to: number;
  readonly block: number;
  readonly start: number;
  readonly end: number;
}

/** All moves of one schedule. */
export interface Timeline {
  readonly schedule: Schedule;
  readonly moves: readonly Move[];
  /** When the last block has arrived. */
  readonly duration: number;
}

/**
 * When each block moves. Without a slow link, in the steps of the schedule. With one, members wait for blocks and for
 * their ports, but not for steps, as `completionTime` of @rdmc/schedule counts.
 */
export function timelineOf(settings: Settings, algorithm: Algorithm): Timeline {
  const { nodes, blocks, slow } = settings;
  const schedule = createSchedule({ algorithm, nodes, blocks, racks: racksOf(settings) });
  if (!slow) {
    const moves = [...schedule.transfers()].map((move) => ({
      ...move,
      start: move.step,
      end: move.step + 1,
    }));
    return { schedule, moves, duration: schedule.steps };
  }
  const cost = costOf(slow);
  return { schedule, moves: waiting(schedule, cost), duration: completionTime(schedule, cost) };
}

function costOf({ a, b, ratio }: SlowLink): (from: number, to: number) => number {
  return (from, to) => ((from === a && to === b) || (from === b && to === a) ? 1 / ratio : 1);
}

function waiting(schedule: Schedule, cost: (from: number, to: number) => number): Move[] {
  const sendPort = new Float64Array(schedule.nodes);
  const receivePort = new Float64Array(schedule.nodes);
  const holds = new Float64Array(schedule.nodes * schedule.blocks);
  return Array.from(schedule.transfers(), (move) => {
    const { from, to, block } = move;
    const start = Math.max(sendPort[from]!, receivePort[to]!, holds[from * schedule.blocks + block]!);
    const end = start + cost(from, to);
    sendPort[from] = end;
    receivePort[to] = end;
    holds[to * schedule.blocks + block] = end;
    return { ...move, start, end };
  });
}

/** Moves that are under way at this time. */
export function movesAt({ moves }: Timeline, time: number): Move[] {
  return moves.filter(({ start, end }) => start <= time && time < end);
}

/** For each member, how many blocks it has at this time. The root has all of them. */
export function heldAt({ schedule, moves }: Timeline, time: number): number[] {
  const held = new Array<number>(schedule.nodes).fill(0);
  held[0] = schedule.blocks;
  for (const { to, end } of moves) if (end <= time) held[to]! += 1;
  return held;
}
