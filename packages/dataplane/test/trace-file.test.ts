import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  decodeTrace,
  encodeTrace,
  NONE,
  namesOf,
  summarise,
  TraceFile,
  TraceKind,
  TraceProtocol,
  traceSubject,
} from '@rdmc/dataplane/trace';
import { rejection, temporaryDirectory, thrown } from '@rdmc/testing';
import { expect, it } from 'vitest';
import { TraceRecorder } from '../src/trace/recorder.js';

const SUBJECT = traceSubject(TraceProtocol.GROUP, 4);
const HEADER = { wallMs: 1.5e12, clockNs: 5e9, clock: 'ab'.repeat(16), host: 'büro-7' };

function event(block: number) {
  const { RECEIVED } = TraceKind;
  return { time: 1000 + block, member: 1, kind: RECEIVED, protocol: 1, group: 4, message: 0, block, peer: 0 };
}

const whole = encodeTrace(HEADER, [event(0), event(1), event(2)]);

it('is read as it was written', () => {
  expect(decodeTrace(whole)).toEqual({
    ...HEADER,
    events: [event(0), event(1), event(2)],
    dropped: 0,
    isCut: false,
  });
});

it.each([
  ['in a record', whole.byteLength - 40, 2, 128 + 2 * 32],
  ['between two records', 128 + 32, 1, 128 + 32],
  ['before its end', whole.byteLength - 32, 3, 128 + 3 * 32],
  ['behind its header', 128, 0, 128],
])('a file cut short %s names its valid part', (_, length, records, valid) => {
  const cut = whole.slice(0, length);
  expect(thrown(() => decodeTrace(cut, { name: 'a.trace' }))).toMatchObject({
    code: 'ERR_RDMC_TRACE_CUT',
    message: `a.trace: it was cut short at byte ${length}: its end is missing; the first ${valid} bytes, with ${records} records, are valid`,
  });
  const { events, isCut } = decodeTrace(cut, { partial: true });
  expect([events.length, isCut]).toEqual([records, true]);
});

it.each([
  ['nothing', new Uint8Array(), 'it is not a trace'],
  ['text', Buffer.from('{"traceEvents":[]}'), 'it is not a trace'],
  ['half a header', whole.slice(0, 100), 'it ends within its header, after 100 bytes'],
  ['another version', damaged(8, 2), 'it has version 2, this package reads version 1'],
  [
    'a damaged time',
    damaged(128 + 32 + 4, 0xffffffff),
    'record 1, at byte 160, is damaged; the 1 records before it',
  ],
  ['a record of zeros', damaged(128 + 12, 0), 'record 0, at byte 128, is damaged'],
])('refuses %s', (_, bytes, message) => {
  const error = thrown(() => decodeTrace(bytes));
  expect(error).toMatchObject({ code: 'ERR_RDMC_INVALID_TRACE', message: expect.stringContaining(message) });
});

function damaged(offset: number, value: number): Uint8Array {
  const bytes = whole.slice();
  new DataView(bytes.buffer).setUint32(offset, value, true);
  return bytes;
}

it('has the records of all rings, and says how many were dropped', async () => {
  const path = join(temporaryDirectory(), 'a.trace');
  const file = await TraceFile.create(path, { records: 1024 });
  const [first, second] = [file.source(1), file.source(2)];
  const recorders = [new TraceRecorder(first.memory, 1), new TraceRecorder(second.memory, 2)];
  for (let i = 0; i < 1100; i += 1) recorders[0]!.put(SUBJECT, TraceKind.RECEIVED, 0, i, 2);
  recorders[1]!.put(SUBJECT, TraceKind.SLEEP, NONE, NONE, NONE);
  first.close();
  await file.close();
  const { events, dropped, clockNs } = decodeTrace(await readFile(path));
  expect(dropped).toBe(1100 - 992);
  expect(file.counts).toEqual({ records: 992 + 1 + 1, dropped });
  expect(events.map(({ member, kind }) => [member, kind])).toEqual([
    [1, TraceKind.DROPPED],
    ...Array.from({ length: 992 }, () => [1, TraceKind.RECEIVED]),
    [2, TraceKind.SLEEP],
  ]);
  // CLOCK_MONOTONIC, as the header.
  expect(events.at(-1)!.time).toBeGreaterThanOrEqual(clockNs);
});

it('has the names of members', async () => {
  const path = join(temporaryDirectory(), 'a.trace');
  const file = await TraceFile.create(path);
  const long = 'büro'.repeat(100);
  file.nameMember(0, 'node1.example.org');
  file.nameMember(0, 'another');
  file.nameMember(7, '');
  file.nameMember(8, long);
  await file.close();
  const { events } = decodeTrace(await readFile(path));
  const names = namesOf(events);
  expect([...names.keys()]).toEqual([0, 8]);
  expect(names.get(0)).toBe('node1.example.org');
  expect(long.startsWith(names.get(8)!.replace(/\ufffd$/, ''))).toBe(true);
  expect(summarise(events)).toMatchObject({ records: 0, members: [] });
});

it('says why it cannot be written', async () => {
  const missing = rejection(TraceFile.create('/nowhere/a.trace'));
  expect(await missing).toMatchObject({
    code: 'ERR_RDMC_TRACE_WRITE',
    message: 'cannot write the trace /nowhere/a.trace: no such file or directory',
  });
  const full = await TraceFile.create('/dev/full');
  expect(await rejection(full.close())).toMatchObject({
    code: 'ERR_RDMC_TRACE_WRITE',
    message: 'cannot write the trace /dev/full: no space left on device',
  });
  for (const records of [1000, 512, 2 ** 25]) {
    expect(await rejection(TraceFile.create('/dev/null', { records }))).toMatchObject({
      code: 'ERR_RDMC_INVALID_OPTION',
    });
  }
});
