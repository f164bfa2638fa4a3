import { after, afterEach, before, describe, it } from 'node:test';
import { type ComplianceSpec, defineComplianceSuite, RDMA_DEVICE, SOFT_ROCE } from '@rdmc/verbs-compliance';
import { patient } from '../src/patience.js';
import { deviceOf } from './devices.js';

const runner = { describe, it, beforeAll: before, afterAll: after, afterEach };

/** The suite that every device must pass, between the first two devices, each in its own process. */
export function compliance(): void {
  const spec: ComplianceSpec = {
    name: `${deviceOf(0)} and ${deviceOf(1)}`,
    features: deviceOf(0).startsWith('rxe') ? SOFT_ROCE : RDMA_DEVICE,
    placement: 'process',
    peerDeathLimitMs: patient(5_000),
    device: { a: { options: { device: deviceOf(0) } }, b: { options: { device: deviceOf(1) } } },
  };
  defineComplianceSuite(spec, runner);
}
