import {
  DEFAULT_DEVICES,
  DEFAULT_MEMORY_MIB,
  DEFAULT_TIMEOUT_SECONDS,
  EXIT_OWN_FAILURE,
  EXIT_TIMEOUT,
} from '../constants.js';

export const HELP = `roce-vm: RDMA without the hardware. Runs a command in a virtual machine that has soft-RoCE devices.

  roce-vm run [options] -- COMMAND...   run COMMAND in the machine; with its output and exit code
  roce-vm shell [options]               a shell in the machine; "exit" ends the machine
  roce-vm setup                         install and download now, so that the next run starts at once
  roce-vm clean                         remove downloads

Options:
  --devices N         rxe0, rxe1, ... on one bridge, 10.0.0.1, 10.0.0.2, ...      default ${DEFAULT_DEVICES}
  --loss SHARE        packets lost on the way to each device, such as 2%           default none
  --memory MIB        of the machine                                               default ${DEFAULT_MEMORY_MIB}
  --processors N      of the machine                                               default 2, if there are two
  --timeout SECONDS   the machine is ended then                                    default ${DEFAULT_TIMEOUT_SECONDS}
  --share DIR         what COMMAND writes in DIR stays
  --env NAME=VALUE    one more variable for COMMAND (PATH, HOME, TERM, LANG and RDMC_* are passed on)

COMMAND sees this machine's files and starts in this directory. Files that it writes are lost with the machine, except in
DIR. Devices use GID index 1 (RoCE v2 over IPv4); 'ip', 'rdma', 'tc' and 'modprobe' work in the machine, as root.

Exit code: that of COMMAND; ${EXIT_TIMEOUT} at the time limit; ${EXIT_OWN_FAILURE} without a machine or a result.

It needs a Debian-like Linux on x86-64 and, the first time, the network: packages are installed when it runs as
root, and named in one line otherwise. The kernel is kept in $XDG_CACHE_HOME/roce-vm (~/.cache/roce-vm).
KVM is not used: it starts in about ten seconds, up to a minute on a busy machine, and everything is ten times slower.

Examples:
  roce-vm run -- ibv_devinfo
  roce-vm run -- sh -c 'ib_write_bw -d rxe0 -x 1 & sleep 1; ib_write_bw -d rxe1 -x 1 10.0.0.1'
  roce-vm run --devices 4 --loss 2% --share "$PWD/results" -- node program.js
  roce-vm shell --devices 4
`;
