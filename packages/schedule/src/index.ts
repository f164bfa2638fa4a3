export { type Algorithm, algorithms, isAlgorithm } from './algorithms.js';
export {
  averageSlack,
  completionTime,
  expectedSlack,
  type RackTraffic,
  rackTraffic,
  type SlowLink,
  slowLinkBound,
  slowLinkFactor,
  type TransferCost,
} from './analysis.js';
export { ScheduleError, type ScheduleErrorCode, scheduleErrors } from './errors.js';
export { MAX_BLOCKS, MAX_NODES, MIN_NODES } from './limits.js';
export type { ScheduleOptions } from './options.js';
export type { RackId } from './racks.js';
export { createSchedule, type Schedule } from './schedule.js';
export type { Neighbours, RankPart, Transfer } from './transfer.js';
