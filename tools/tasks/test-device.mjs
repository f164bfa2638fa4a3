// `RDMC_TEST_DEVICE=mlx5_0 npm run test:device`: the tests on RDMA devices, on those of this machine. Several names,
// with commas between them, are given to the members of groups in turn. Arguments name parts, as in test-roce.mjs.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { IBVERBS, needCommands, root, setUp, stop } from './setup.mjs';

if (!process.env.RDMC_TEST_DEVICE) {
  stop('RDMC_TEST_DEVICE must name the devices to test, such as mlx5_0; rdmc devices lists them');
}
needCommands('Building for RDMA devices', IBVERBS);
setUp();
const suite = join(root, 'test-e2e', 'dist', 'device.js');
const args = ['--test-reporter=spec', suite, ...process.argv.slice(2)];
process.exit(spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1);
