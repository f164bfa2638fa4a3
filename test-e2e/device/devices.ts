import { execFile, execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { patient } from '../src/patience.js';

const VARIABLE = 'RDMC_TEST_DEVICE';

/** Devices under test, in the order members take them: RDMC_TEST_DEVICE=rxe0,rxe1 or one name for all. */
export const DEVICES = (process.env[VARIABLE] ?? '').split(',').filter(Boolean);
if (DEVICES.length === 0) {
  console.error(`${VARIABLE} must name the devices to test, such as mlx5_0 or rxe0,rxe1,rxe2,rxe3`);
  process.exit(2);
}

/** Device of that member; more members than devices share them. */
export function deviceOf(member: number): string {
  return DEVICES[member % DEVICES.length]!;
}

/**
 * Whether devices may be removed and packets lost: in the machine of tools/roce-vm, which sets the variable, and where
 * rxe0 is on e0, whose other end is p0.
 */
export const EXPENDABLE = process.env.RDMC_TEST_EXPENDABLE_DEVICES === '1';
/** Reason in the title of a skipped test. */
export const WHY_NOT = 'skipped: set RDMC_TEST_EXPENDABLE_DEVICES=1 in a soft-RoCE machine of tools/roce-vm';

function run(line: string): void {
  const [command, ...args] = line.split(' ');
  execFileSync(command!, args, { stdio: ['ignore', 'ignore', 'inherit'] });
}

/** Drops this share of all packets to a device: '2%'. */
export function losePackets(share: string): void {
  for (const index of DEVICES.keys()) run(`tc qdisc add dev p${index} root netem limit 100000 loss ${share}`);
}

export function losePacketsNoMore(): void {
  for (const index of DEVICES.keys()) run(`tc qdisc del dev p${index} root`);
}

/** Packets that were lost so far. */
export function lostPackets(): number {
  const counts = [...DEVICES.keys()].map((index) => {
    const shown = execFileSync('tc', ['-s', 'qdisc', 'show', 'dev', `p${index}`], { encoding: 'utf8' });
    return Number(/dropped (\d+)/.exec(shown)?.[1] ?? 0);
  });
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Sets the network device below that device up or down. */
export function setLink(index: number, state: 'up' | 'down'): void {
  run(`ip link set e${index} ${state}`);
}

export function setMtu(index: number, bytes: number): void {
  run(`ip link set e${index} mtu ${bytes}`);
}

/** Resolves when the device was removed: after its last user has closed it. */
export async function removeDevice(index: number): Promise<void> {
  await promisify(execFile)('rdma', ['link', 'del', `rxe${index}`]);
}

/** A soft-RoCE device on its network device; resolves when it has its address. */
export async function addDevice(index: number): Promise<void> {
  run(`rdma link add rxe${index} type rxe netdev e${index}`);
  await addressOf(index);
}

/** Resolves when the device has its address, RoCE v2 over IPv4. */
export async function addressOf(index: number): Promise<void> {
  const port = `/sys/class/infiniband/rxe${index}/ports/1`;
  const end = performance.now() + patient(30_000);
  const there = () =>
    existsSync(`${port}/gids/1`) &&
    readFileSync(`${port}/gids/1`, 'utf8').includes(':ffff:') &&
    readFileSync(`${port}/state`, 'utf8').includes('ACTIVE');
  while (!there()) {
    if (performance.now() > end) throw new Error(`${port} did not become active, with an address`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
