// Verbs and groups on soft-RoCE beside perftest, in one boot of a virtual machine.
// usage: node tools/bench/roce/run.mjs [CASE...]   cases: bandwidth, latency, multicast, window (default: all)
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url));
const machine = ['run', '--devices', '4', '--memory', '4096', '--timeout', '1800'];
const command = [process.execPath, path('guest.mjs'), ...process.argv.slice(2)];
const vm = path('../../roce-vm/bin/roce-vm');
const { status } = spawnSync(vm, [...machine, '--', ...command], { stdio: 'inherit' });
process.exit(status ?? 1);
