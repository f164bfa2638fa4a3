import { defineComplianceSuite, RDMA_DEVICE, SOFT_ROCE } from '@rdmc/verbs-compliance';
import * as vitest from 'vitest';

const name = process.env.RDMC_TEST_DEVICE;

if (name) {
  for (const placement of ['thread', 'worker', 'process'] as const) {
    const device = { options: { device: name } };
    defineComplianceSuite(
      { name, features: name.startsWith('rxe') ? SOFT_ROCE : RDMA_DEVICE, placement, device },
      vitest,
    );
  }
} else {
  vitest.it.skip('another device [skipped: set RDMC_TEST_DEVICE to its name, such as mlx5_0]', () => {});
}
