import { networkInterfaces } from 'node:os';
import {
  type ChapterName,
  type ComplianceSpec,
  type DeviceSource,
  defineComplianceSuite,
  type PlacementName,
  SOFT_SHM,
  SOFT_TCP,
} from '@rdmc/verbs-compliance';
import * as vitest from 'vitest';
import { CHAPTER_NAMES } from '../src/chapters/names.js';

/** This device detects the end of a process as an event, without a time-out; so the limit is only for a test that hangs. */
const peerDeathLimitMs = 45_000;

/** Runs the suite on the soft device over shared memory. */
export function softOverShm(placement: PlacementName): void {
  const device: DeviceSource = { options: { device: 'soft', transport: 'shm' } };
  defineSuite({ name: 'soft/shm', features: SOFT_SHM, placement, device, peerDeathLimitMs });
}

/** Runs the suite, or these chapters, on the soft device over TCP. */
export function softOverTcp(
  placement: PlacementName,
  host = '127.0.0.1',
  chapters?: readonly ChapterName[],
): void {
  const name = host.includes(':') ? 'soft/tcp over IPv6' : 'soft/tcp';
  const device: DeviceSource = { options: { device: 'soft', transport: 'tcp', listen: { host } } };
  defineSuite({ name, features: SOFT_TCP, placement, device, peerDeathLimitMs }, chapters);
}

/**
 * Where the peers are threads, these chapters do what they do in one thread and in two processes: each test is a few
 * requests, one after the other. The other chapters use what the threads of a process share from both at once.
 */
const OF_SINGLE_REQUESTS: readonly ChapterName[] = [
  'opcodes',
  'sizes',
  'scatter-gather',
  'requests',
  'signalling',
  'receiver not ready',
  'remote errors',
  'posting errors',
  'regions',
];

/** Runs the suite, or these chapters, briefly in vitest; RDMC_TEST_LONG=1 runs all chapters with all rounds. */
export function defineSuite(spec: ComplianceSpec, chapters = chaptersOf(spec.placement)): void {
  const isLong = process.env.RDMC_TEST_LONG === '1';
  defineComplianceSuite(isLong ? spec : { ...spec, chapters, brief: true }, vitest);
  const rest = CHAPTER_NAMES.filter((name) => !chapters.includes(name));
  if (isLong || rest.length === 0) return;
  vitest.it.skip(
    `${spec.name}, ${spec.placement}: ${rest.join(', ')} [skipped: set RDMC_TEST_LONG=1 to run them]`,
    () => undefined,
  );
}

function chaptersOf(placement: PlacementName): readonly ChapterName[] {
  if (placement !== 'worker') return CHAPTER_NAMES;
  return CHAPTER_NAMES.filter((name) => !OF_SINGLE_REQUESTS.includes(name));
}

/** Whether this machine has the IPv6 loopback address. */
export function hasIpv6(): boolean {
  return Object.values(networkInterfaces()).some((addresses) =>
    addresses?.some(({ address }) => address === '::1'),
  );
}
