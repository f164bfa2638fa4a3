// `npm run test:roce`: the tests on RDMA devices, in one virtual machine with four soft-RoCE devices. No RDMA hardware
// is needed. Arguments name parts: npm run test:roce -- groups packet-loss; --push: those that run for every push. The part
// `machine` is the tests of tools/roce-vm itself, beside that machine.
// If no such machine can be built it prints one line, and fails only with RDMC_TEST_REQUIRE_ROCE=1.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { IBVERBS, missingPackages, needCommands, root, run, setUp, stop, tool } from './setup.mjs';

const MACHINE = 'machine';
/** The parts for `.ci/run`. The others take most of the time, and run in `.ci/nightly`. */
const PUSH = [MACHINE, 'groups', 'hipower', 'loss-of-members', 'packet-loss', 'bad-input', 'commands'];

function leaveOut(why) {
  console.log(`── test:roce did NOT run: ${why}`);
  process.exit(process.env.RDMC_TEST_REQUIRE_ROCE === '1' ? 1 : 0);
}

if (process.env.RDMC_TEST_NO_ROCE === '1') leaveOut('RDMC_TEST_NO_ROCE=1 leaves it out');
const lacking = missingPackages(IBVERBS);
if (lacking.length > 0 && process.getuid?.() !== 0) {
  leaveOut(`missing packages; run: sudo apt-get install -y --no-install-recommends ${lacking.join(' ')}`);
}
needCommands('Building for RDMA devices', IBVERBS);
setUp();
const { prepare, RoceVmError } = await import('../roce-vm/dist/index.js');
try {
  prepare(console.log);
} catch (error) {
  if (!(error instanceof RoceVmError)) throw error;
  leaveOut(`the virtual machine cannot be built here: ${error.message}`);
}

const asked = process.argv.slice(2).flatMap((name) => (name === '--push' ? PUSH : [name]));
if (asked.length === 0 || asked.includes(MACHINE)) {
  run(
    'the virtual machine itself',
    tool('vitest'),
    ['run', '--root', 'tools/roce-vm', 'test/machine.test.ts'],
    {
      env: { RDMC_TEST_ROCE_VM: '1' },
    },
  );
}
const parts = asked.filter((name) => name !== MACHINE);
if (asked.length > 0 && parts.length === 0) process.exit();

/** How often the port goes down: to search for a rare failure. */
const portRuns = process.env.RDMC_TEST_PORT_RUNS ?? '1';
if (!/^[1-9]\d{0,3}$/.test(portRuns)) stop(`RDMC_TEST_PORT_RUNS: found ${portRuns}, needed 1 to 9999`);
/** Two minutes each, on a busy machine. */
const timeoutSeconds = 2400 + 120 * (Number(portRuns) - 1);

/** An emulated processor on a busy machine is slow: a step of a second may take a minute. */
const variables = {
  RDMC_TEST_DEVICE: 'rxe0,rxe1,rxe2,rxe3',
  RDMC_TEST_EXPENDABLE_DEVICES: '1',
  RDMC_TEST_PATIENCE: '6',
  RDMC_TEST_LIMIT_MS: '90000',
  RDMC_TEST_PORT_RUNS: portRuns,
};
const machine = ['run', '--devices', '4', '--memory', '4096', '--timeout', `${timeoutSeconds}`];
const env = Object.entries(variables).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
const suite = join(root, 'test-e2e', 'dist', 'device.js');
const command = ['--', process.execPath, '--test-reporter=spec', suite, ...parts];
const child = spawn(join(root, 'tools', 'roce-vm', 'bin', 'roce-vm'), [...machine, ...env, ...command], {
  cwd: root,
  stdio: 'inherit',
});
// The machine ends with this process, also where only this process gets the signal.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
const [code] = await once(child, 'exit');
if (code !== 0) {
  const again = parts.length > 0 ? parts.join(' ') : 'PART';
  stop(`The tests on soft-RoCE failed. To repeat: npm run test:roce -- ${again}`);
}
