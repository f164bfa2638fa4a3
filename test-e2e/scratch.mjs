import { after, afterEach, before, describe, it } from 'node:test';
import { defineComplianceSuite, SOFT_ROCE } from '@rdmc/verbs-compliance';

const runner = { describe, it, beforeAll: before, afterAll: after, afterEach };
const chapters = process.argv[2] && process.argv[2] !== 'all' ? process.argv[2].split(',') : undefined;
defineComplianceSuite(
  {
    name: 'rxe',
    features: SOFT_ROCE,
    placement: process.argv[3] ?? 'process',
    peerDeathLimitMs: 30000,
    device: { a: { options: { device: 'rxe0' } }, b: { options: { device: process.argv[4] ?? 'rxe1' } } },
    ...(chapters && { chapters }),
  },
  runner,
);
