import { networkInterfaces } from 'node:os';
import {
  type ChapterName,
  type DeviceSource,
  defineComplianceSuite,
  type PlacementName,
  SOFT_SHM,
  SOFT_TCP,
} from '@rdmc/verbs-compliance';
import * as vitest from 'vitest';

/** This device detects the end of a process as an event, without a time-out; so the limit is only for a test that hangs. */
const peerDeathLimitMs = 45_000;

/** Runs the suite on the soft device over shared memory. */
export function softOverShm(placement: PlacementName): void {
  const device: DeviceSource = { options: { device: 'soft', transport: 'shm' } };
  defineComplianceSuite(
    { name: 'soft/shm', features: SOFT_SHM, placement, device, peerDeathLimitMs },
    vitest,
  );
}

/** Runs the suite, or these chapters, on the soft device over TCP. */
export function softOverTcp(
  placement: PlacementName,
  host = '127.0.0.1',
  chapters?: readonly ChapterName[],
): void {
  const name = host.includes(':') ? 'soft/tcp over IPv6' : 'soft/tcp';
  const device: DeviceSource = { options: { device: 'soft', transport: 'tcp', listen: { host } } };
  const spec = { name, features: SOFT_TCP, placement, device, peerDeathLimitMs };
  defineComplianceSuite({ ...spec, ...(chapters && { chapters }) }, vitest);
}

/** Whether this machine has the IPv6 loopback address. */
export function hasIpv6(): boolean {
  return Object.values(networkInterfaces()).some((addresses) =>
    addresses?.some(({ address }) => address === '::1'),
  );
}
