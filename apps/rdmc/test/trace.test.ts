import { readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { encodeTrace, NONE, SIMULATED_CLOCK, TraceKind } from '@rdmc/dataplane/trace';
import { beforeEach, describe, expect, it } from 'vitest';
import { multicastDocument } from '../src/bench/documents.js';
import { traceSummaryDocument } from '../src/trace/document.js';
import { timelinePage } from '../src/trace/page.js';
import { pageScript } from '../src/trace/page-script.js';
import { describeDelays } from '../src/trace/report.js';
import { cast, sampleFile, startReceivers } from './support/casting.js';
import { answer, run, Scratch } from './support/cli.js';

let scratch: Scratch;
beforeEach(() => {
  scratch = new Scratch();
});

const MS = 1e6;
const HEADER = { wallMs: 0, clockNs: 0, clock: 'a1'.repeat(16), host: 'a' };

function record(ms: number, member: number, kind: number, peer = NONE) {
  const of = { protocol: 1, group: 5, message: 0, block: 2, peer };
  return { time: ms * MS, member, kind: kind as never, ...of };
}

/** 1 waits for 0 for 8 ms, of which 0 waits for its application for 6 ms. */
const EVENTS = [
  record(0, 0, TraceKind.WAITS_FOR_APPLICATION),
  record(0, 1, TraceKind.WAITS_FOR_BLOCK, 0),
  record(6, 0, TraceKind.WAITS_FOR_NOTHING),
  record(6, 0, TraceKind.SEND_STARTED, 1),
  record(8, 1, TraceKind.RECEIVED, 0),
  record(8, 1, TraceKind.WAITS_FOR_NOTHING),
];

function traceFile(name: string, bytes = encodeTrace(HEADER, EVENTS)): string {
  const path = join(scratch.path, name);
  writeFileSync(path, bytes);
  return path;
}

describe('rdmc trace', () => {
  it('says who delays whom', async () => {
    const { code, stdout } = await answer('trace', 'summary', traceFile('a.trace'));
    expect(code).toBe(0);
    expect(stdout).toBe(
      [
        'Who delays whom: 14.0 ms of waiting at 2 members in 8.0 ms',
        '  member 0    waited   6.0 ms: 100% for its own application',
        '  member 1    waited   8.0 ms: 100% for blocks of 0',
        '  100% of all waiting comes down to member 0, its application first of all',
        '',
      ].join('\n'),
    );
  });

  it('prints the same as a document', async () => {
    const { stdout } = await answer('trace', 'summary', traceFile('a.trace'), '--json');
    const document = traceSummaryDocument.parse(JSON.parse(stdout));
    expect(document).toMatchObject({ seconds: 0.008, records: 6, dropped: 0, messages: 0, skew: null });
    expect(describeDelays(document)).toHaveLength(4);
  });

  it('draws a page that loads nothing', async () => {
    const page = join(scratch.path, 'a.html');
    expect(await answer('trace', 'merge', traceFile('a.trace'), '-o', page)).toMatchObject({ code: 0 });
    const html = readFileSync(page, 'utf8');
    expect(html).not.toMatch(/\b(src|href)=|https?:|@import|url\(/);
    const [, json] = /<script type="application\/json" id="data">(.*?)<\/script>/.exec(html)!;
    const { members, spans } = JSON.parse(json!);
    expect(members).toEqual([0, 1]);
    expect(spans).toEqual([
      [0, 0, 0, 6000, 5, 0, 2, -1, 'application'],
      [0, 1, 0, 8000, 5, 0, 2, 0, 'block'],
      [3, 1, 6000, 2000, 5, 0, 2, 0, 'receive'],
    ]);
    expect(() => new Function(pageScript)).not.toThrow();
  });

  it('says what the page leaves out', () => {
    const many = Array.from({ length: 11 }, (_, i) => record(i, 1, TraceKind.RECEIVED, 0));
    const whole = { header: HEADER, events: many, dropped: 7, notes: ['</pre>a.trace was cut short'] };
    const empty = { seconds: 0, records: 0, dropped: 7, members: [], causes: [], slowest: null, messages: 0 };
    const html = timelinePage(whole, { ...empty, skew: null }, 10);
    expect(html).toContain('11 blocks are not drawn');
    expect(html).toContain('note: &lt;/pre>a.trace was cut short');
    expect(html).toContain('7 records of 7 dropped: a ring was full');
  });

  it('writes the trace format of Chrome, and traces again', async () => {
    const [json, again] = [join(scratch.path, 'a.json'), join(scratch.path, 'b.trace')];
    const file = traceFile('a.trace');
    await answer('trace', 'merge', file, '-o', json);
    const { traceEvents, otherData } = JSON.parse(readFileSync(json, 'utf8'));
    expect(traceEvents.filter(({ ph }: { ph: string }) => ph === 'X')).toHaveLength(3);
    expect(traceSummaryDocument.parse(otherData.summary)).toMatchObject({ records: 6 });
    await answer('trace', 'merge', file, '-o', again);
    expect(readFileSync(again).equals(encodeTrace(HEADER, EVENTS))).toBe(true);
  });

  it('says how far a trace that was cut short is valid, and reads that part', async () => {
    const cut = traceFile('cut.trace', encodeTrace(HEADER, EVENTS).slice(0, 128 + 3 * 32 + 5));
    const refused = await answer('trace', 'summary', cut);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain(
      `ERR_RDMC_TRACE_CUT: ${cut}: it was cut short at byte 229: its end is missing; the first 224 bytes, with 3 records, are valid`,
    );
    expect(refused.stderr).toContain('--partial');
    const partial = await answer('trace', 'summary', cut, '--partial');
    expect(partial).toMatchObject({ code: 0, stderr: `note: ${cut} was cut short\n` });
    expect(partial.stdout).toContain('Who delays whom: 12.0 ms of waiting');
  });

  it.each([
    ['no trace', () => [traceFile('a.txt', Buffer.from('hello'))], 'ERR_RDMC_INVALID_TRACE'],
    ['no file', () => ['/nowhere/a.trace'], 'cannot read the trace /nowhere/a.trace'],
    [
      'a simulation beside another trace',
      () => [
        traceFile('a.trace'),
        traceFile('s.trace', encodeTrace({ ...HEADER, clock: SIMULATED_CLOCK }, EVENTS)),
      ],
      'a trace of a simulation',
    ],
  ])('refuses %s', async (_, files, message) => {
    const { code, stderr } = await answer('trace', 'summary', ...files());
    expect(code).not.toBe(0);
    expect(stderr).toContain(message);
  });
});

describe('--trace', () => {
  it('of rdmc bench multicast has all members and the skew', async () => {
    const file = join(scratch.path, 'bench.trace');
    const args = ['-m', '3', '-s', '64KiB', '-a', 'chain', '-n', '1', '--block-size', '8KiB', '--json'];
    const { code, stdout, stderr } = await run('bench', 'multicast', ...args, '--trace', file);
    expect(code).toBe(0);
    const [result] = multicastDocument.parse(JSON.parse(stdout)).results;
    expect(result!.firstReceiverSeconds + result!.skewSeconds).toBeCloseTo(result!.seconds, 9);
    expect([1, 2]).toContain(result!.mostOftenLast);
    expect(stderr).toContain('Who delays whom');
    const summary = await answer('trace', 'summary', file, '--json');
    const { members, messages, dropped } = traceSummaryDocument.parse(JSON.parse(summary.stdout));
    // The warm-up and one round.
    expect([messages, dropped]).toEqual([2, 0]);
    expect(members.map(({ blocksReceived, blocksSent }) => [blocksReceived, blocksSent])).toEqual([
      [0, 16],
      [16, 16],
      [16, 0],
    ]);
  });

  it('refuses several numbers of members, and a path that cannot be written', async () => {
    const several = await answer('bench', 'multicast', '-m', '2,3', '--trace', join(scratch.path, 'a'));
    expect(several).toMatchObject({ code: 2, stderr: expect.stringContaining('--trace') });
    const nowhere = await answer('bench', 'multicast', '-m', '2', '--trace', '/nowhere/a.html');
    expect(nowhere.stderr).toContain('cannot write the trace /nowhere/a.html: no such file or directory');
  });

  it('of rdmc cast and rdmc receive make one timeline', async () => {
    const file = sampleFile(join(scratch.path, 'sample'), 3_000_017);
    const [own, theirs] = [join(scratch.path, 'own.trace'), join(scratch.path, 'theirs.trace')];
    const { receivers, to } = await startReceivers(scratch, 1, ['--once', '--trace', theirs]);
    expect(await cast([file, '--to', to, '--trace', own]).ended).toMatchObject({ code: 0, stderr: '' });
    expect(await receivers[0]!.cli.ended).toMatchObject({ code: 0, stderr: '' });
    const html = join(scratch.path, 'cast.html');
    const merged = await answer('trace', 'merge', own, theirs, '-o', html, '--json');
    const { members } = traceSummaryDocument.parse(JSON.parse(merged.stdout));
    // The receiver has its host's name by itself, and that of `--to` by the sender.
    expect(members.map(({ member, name }) => [member, name])).toEqual([
      [0, hostname()],
      [1, expect.toSatisfy((name) => name === hostname() || name === receivers[0]!.name)],
    ]);
    expect(members[0]!.blocksSent).toBe(members[1]!.blocksReceived);
    expect(members[0]!.blocksSent).toBeGreaterThan(0);
    expect(readFileSync(html, 'utf8')).toContain('Who delays whom');
  });
});
