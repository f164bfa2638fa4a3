/** What members ask the coordinator, as requests of the mesh under one topic. */
import { finite, list, openRecord, type Shaped, uuid, variants } from '@rdmc/common/shapes';
import { u32, u64 } from '../rpc/messages.js';

export const COORDINATOR_TOPIC = 'tailwind.coordinator';

export const coordinatorRequest = variants('op', {
  cluster: {},
  'create-log': {},
  /** The log that was created holds nothing, and nobody will write it. */
  'abandon-log': { logId: u64 },
  logs: {},
  log: { logId: u64 },
  raise: { logId: u64, segmentId: u64, epoch: u32 },
  lease: { logId: u64 },
  /** Answered when the lease of the log's primary has run out. */
  'begin-recovery': { logId: u64 },
  /** Lets another member try, by the attempt's number, as `begin-recovery` answered. */
  'give-up-recovery': { logId: u64, attempt: u32 },
  'finish-recovery': { logId: u64, attempt: u32, successors: list(u64) },
});
export type CoordinatorRequest = Shaped<typeof coordinatorRequest>;

export const clusterAnswer = openRecord({ clusterId: uuid });
export const leaseAnswer = openRecord({ leaseMs: finite(0) });
