// Runs a command in a machine with two soft-RoCE devices. Needs a Debian-like machine; installs packages only as root.
import { RoceVmError, runInVm } from '@rdmc/roce-vm';

const command = ['sh', '-c', 'cat /sys/class/infiniband/*/ports/1/state; exit 3'];
try {
  const exitCode = await runInVm({ command, devices: 2, timeoutSeconds: 300 });
  console.log(`the command ended with ${exitCode}`);
} catch (error) {
  if (!(error instanceof RoceVmError)) throw error;
  console.log(`no machine here: ${error.message}`);
}
