import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { scanSegment } from '@rdmc/tailwind/format';
import { sharedDirectory } from '@rdmc/testing';
import { expect, it } from 'vitest';
import { crc32 } from '../src/format/crc32.js';
import { writeU32 } from '../src/format/layout.js';
import { encodeReplicaHeader, type ReplicaRecord } from '../src/storage/replica-header.js';
import { IDENTITY, sampleSegment } from './support/segments.js';

const directory = sharedDirectory('tailwind-scan');

const segment = sampleSegment(300, [[5], [10, 20]]);
const end = segment.ends[1]!;
const { checksum } = scanSegment(segment.bytes, IDENTITY);
const IDENTITY_ARGUMENTS = ['--log-id', '77', '--segment-id', '0x3', '--incarnation', '5'];
const CLUSTER = '00112233-4455-6677-8899-aabbccddeeff';

function file(name: string, ...parts: Uint8Array[]): string {
  const path = join(directory, name);
  writeFileSync(path, Buffer.concat(parts));
  return path;
}

function run(...argv: string[]) {
  const program = new URL('../dist/cli.js', import.meta.url).pathname;
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...argv], { encoding: 'utf8' });
  return { status, stdout, stderr };
}

function record(changes: Partial<ReplicaRecord>): ReplicaRecord {
  const open = { epoch: 1, state: 'open', checksum: 0, byteLength: 300, floorBytes: 0 } as const;
  return { ...IDENTITY, ...open, segmentBytes: 300, committed: true, survivor: false, ...changes };
}

it('prints the same as scanSegment for the bare bytes of a segment, with the entries', () => {
  const { status, stdout } = run(file('bare', segment.bytes), ...IDENTITY_ARGUMENTS, '--json');
  expect(status).toBe(0);
  const report = JSON.parse(stdout);
  expect(report).toMatchObject(scanSegment(segment.bytes, IDENTITY));
  expect(report.entries).toHaveLength(5);
  expect(report.entries[0]).toEqual({
    offset: 0,
    type: 'object',
    byteLength: 22,
    details: '"key 0" version 1, 5 bytes',
  });
});

it('prints text without --json', () => {
  const { status, stdout } = run(file('bare', segment.bytes), ...IDENTITY_ARGUMENTS);
  expect(status).toBe(0);
  expect(stdout).toContain('"key 1" version 2, 20 bytes');
  expect(stdout).toContain(
    `status    ok\noffset    ${end}\nchecksum  0x${checksum.toString(16).padStart(8, '0')}`,
  );
});

it('takes identity, certificate and floor of a replica from its header', () => {
  const closed = { state: 'closed', byteLength: end, checksum } as const;
  const good = file(
    'closed',
    encodeReplicaHeader(CLUSTER, record(closed), 1),
    segment.bytes.subarray(0, end),
  );
  expect(run(good)).toMatchObject({ status: 0 });
  const flipped = segment.bytes.slice(0, end);
  flipped[60]! ^= 1;
  const bad = file('flipped', encodeReplicaHeader(CLUSTER, record(closed), 1), flipped);
  expect(run(bad)).toMatchObject({ status: 1, stdout: expect.stringContaining('status    corrupt') });
  const low = file('low', encodeReplicaHeader(CLUSTER, record({ floorBytes: end + 1 }), 1), segment.bytes);
  expect(run(low)).toMatchObject({ status: 1, stdout: expect.stringContaining('below-floor') });
});

it('takes a certificate and a floor as arguments', () => {
  const path = file('bare', segment.bytes);
  const certificate = ['--length', String(end), '--checksum', `0x${checksum.toString(16)}`];
  expect(run(path, ...IDENTITY_ARGUMENTS, ...certificate).status).toBe(0);
  expect(run(path, ...IDENTITY_ARGUMENTS, '--length', '47', '--checksum', '1').status).toBe(1);
  expect(run(path, ...IDENTITY_ARGUMENTS, '--floor', String(end + 1)).status).toBe(1);
});

it.each([
  ['no file', []],
  ['two files', ['a', 'b']],
  ['an unknown option', ['a', '--colour']],
  ['half a certificate', ['a', '--length', '5']],
  ['no number', ['a', '--log-id', 'x']],
  ['too large a number', ['a', '--floor', '4294967296']],
])('refuses %s with exit code 2 and the usage', (_, argv) => {
  const { status, stderr } = run(...argv);
  expect(status).toBe(2);
  expect(stderr).toMatch(/^ERR_RDMC_INVALID_OPTION: /);
  expect(stderr).toContain('Exit code');
});

it('reports files that are not segments, of another version, or damaged with a code, and exits with 3', () => {
  const header = encodeReplicaHeader(CLUSTER, record({}), 1);
  const version = header.slice();
  version[8] = 2;
  writeU32(version, 4092, crc32(version, 0, 4092, 0));
  const flipped = header.slice();
  flipped[40]! ^= 1;
  const refused = (path: string) => {
    const { status, stderr } = run(path);
    return `${status} ${stderr.split(':')[0]}`;
  };
  expect(refused(join(directory, 'absent'))).toBe('3 ENOENT');
  expect(refused(file('text', Buffer.from('hello')))).toBe('3 ERR_RDMC_REPLICA_FOREIGN_FILE');
  expect(refused(file('version', version))).toBe('3 ERR_RDMC_REPLICA_FOREIGN_VERSION');
  expect(refused(file('flipped-header', flipped))).toBe('3 ERR_RDMC_REPLICA_DAMAGED');
  expect(refused(file('short', header.subarray(0, 100)))).toBe('3 ERR_RDMC_REPLICA_DAMAGED');
});

it('prints its usage on --help', () => {
  expect(run('--help')).toMatchObject({ status: 0, stdout: expect.stringContaining('tailwind-scan FILE') });
});
