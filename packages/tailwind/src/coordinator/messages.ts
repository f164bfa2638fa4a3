/** Requests of members to the coordinator, sent over the mesh under one topic, in the envelopes of ./term-guard.ts. */
import { finite, list, openRecord, type Shaped, uuid, variants } from '@rdmc/common/shapes';
import { u32, u64 } from '../rpc/messages.js';

export const COORDINATOR_TOPIC = 'tailwind.coordinator';

export const coordinatorRequest = variants(
  'op',
  {
    cluster: {},
    'create-log': {},
    /** A created log is empty, and will not be written. */
    'abandon-log': { logId: u64 },
    logs: {},
    log: { logId: u64 },
    raise: { logId: u64, segmentId: u64, epoch: u32 },
    lease: { logId: u64 },
    /** Answered when the lease of the log's primary has expired. */
    'begin-recovery': { logId: u64 },
    /** Ends the attempt with this number, from the answer to `begin-recovery`, so that another member may try. */
    'give-up-recovery': { logId: u64, attempt: u32 },
    'finish-recovery': { logId: u64, attempt: u32, successors: list(u64) },
  },
  openRecord,
);
export type CoordinatorRequest = Shaped<typeof coordinatorRequest>;

export const clusterAnswer = openRecord({ clusterId: uuid });
export const leaseAnswer = openRecord({ leaseMs: finite(0) });
