import type { CastProgress, CastSummary, ReceiverProgress, ReceiverSummary } from '@rdmc/cast';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { castEvent } from '../src/cast/events.js';
import { drawFrame, formatTimeLeft } from '../src/cast/frame.js';
import type { CastCommandOptions } from '../src/cast/options.js';
import { outcomeOf } from '../src/cast/outcome.js';
import { planTransfer } from '../src/cast/plan.js';
import { Reporter } from '../src/cast/reporter.js';
import { describeLack, describeSuccess } from '../src/cast/summary.js';
import { CliError } from '../src/errors.js';
import { receiveEvent } from '../src/receive/events.js';
import { ReceiveReporter } from '../src/receive/reporter.js';
import { bar } from '../src/ui/bar.js';
import { createPalette, visibleWidth } from '../src/ui/palette.js';
import { RateMeter } from '../src/ui/rate-meter.js';
import { Repainter } from '../src/ui/repainter.js';
import type { Terminal } from '../src/ui/terminal.js';

const palette = createPalette(false);

function receiver(name: string, part: Partial<ReceiverProgress> = {}): ReceiverProgress {
  return { name, state: 'receiving', receivedBytes: 0, storedBytes: 0, resumedBytes: 0, ...part };
}

function snapshot(receivers: readonly ReceiverProgress[], totalBytes = 1000): CastProgress {
  return { phase: 'sending', attempt: 1, totalBytes, totalFiles: 1, sentBytes: 0, keptBytes: 0, receivers };
}

describe('a frame', () => {
  it('shows a bar per receiver, and the total with rate and remaining time', () => {
    const receivers = [
      receiver('node1:7411', { receivedBytes: 900, storedBytes: 500 }),
      receiver('n2:7411', { state: 'complete', storedBytes: 990 }),
      receiver('n3:7411', {
        state: 'failed',
        storedBytes: 10,
        error: { code: 'ERR_RDMC_NO_SPACE', message: 'full' },
      }),
    ];
    expect(drawFrame(snapshot(receivers), { columns: 76, rows: 24, palette, rate: 25 })).toEqual([
      `  node1:7411  ${bar(0.5, 0.9, 22)}  50%  500 B`,
      `  n2:7411     ${'█'.repeat(22)} 100%  complete`,
      '  n3:7411     failed ERR_RDMC_NO_SPACE full',
      `  total       ${bar(0.75, 0.75, 22)}  75%  25 B/s, 10 s left`,
    ]);
  });

  it('does not show 100% before everything is stored', () => {
    const [line] = drawFrame(snapshot([receiver('a', { receivedBytes: 1e6, storedBytes: 999_999 })], 1e6), {
      columns: 80,
      rows: 24,
      palette,
      rate: undefined,
    });
    expect(line).toContain(' 99%');
  });

  it('shows the slowest where not all fit the window, and counts the others', () => {
    const receivers = Array.from({ length: 20 }, (_, i) =>
      receiver(`node${i}`, { storedBytes: 1000 - i * 10 }),
    );
    receivers[3] = receiver('node3', { state: 'complete' });
    receivers[4] = receiver('node4', { state: 'failed' });
    const lines = drawFrame(snapshot(receivers), { columns: 80, rows: 8, palette, rate: undefined });
    expect(lines.map((line) => line.trim().split(/ +/)[0])).toEqual([
      'node19',
      'node18',
      'node17',
      'node16',
      '…',
      'total',
    ]);
    expect(lines.at(-2)).toContain('16 receivers more: 14 faster, 1 complete, 1 failed');
  });

  const states = fc.constantFrom<ReceiverProgress['state']>(
    'connecting',
    'receiving',
    'storing',
    'complete',
    'failed',
  );
  const one = fc.record({
    name: fc.string({ minLength: 1, maxLength: 60, unit: fc.constantFrom('a', 'é', '-') }),
    state: states,
    receivedBytes: fc.nat(2000),
    storedBytes: fc.nat(2000),
    resumedBytes: fc.nat(2000),
    error: fc.record({ code: fc.constant('ERR_RDMC_RECEIVER_LOST'), message: fc.string({ maxLength: 200 }) }),
  });
  it('fits the window with any content', () => {
    const room = fc.record({
      columns: fc.integer({ min: 50, max: 200 }),
      rows: fc.integer({ min: 5, max: 60 }),
      rate: fc.option(fc.double({ min: 0, max: 1e12, noNaN: true }), { nil: undefined }),
    });
    fc.assert(
      fc.property(
        fc.array(one, { maxLength: 80 }),
        fc.nat(1500),
        room,
        (receivers, total, { columns, rows, rate }) => {
          const lines = drawFrame(snapshot(receivers, total), { columns, rows, palette, rate });
          expect(lines.length).toBeLessThan(rows);
          expect(lines.length).toBeGreaterThan(Math.min(receivers.length, 1));
          for (const line of lines) {
            expect(visibleWidth(line)).toBeLessThan(columns);
            expect(line).toMatch(/^\P{Cc}*$/u);
          }
        },
      ),
    );
  });

  it('formats the remaining time in suitable units', () => {
    expect([0.2, 59, 100, 3661, 90_000].map(formatTimeLeft)).toEqual([
      '1 s',
      '59 s',
      '1 min 40 s',
      '61 min 1 s',
      '25 h 0 min',
    ]);
  });
});

describe('a rate', () => {
  it('is computed over the last seconds', () => {
    const meter = new RateMeter();
    expect(meter.rate).toBeUndefined();
    meter.add(0, 0);
    expect(meter.rate).toBeUndefined();
    for (let second = 1; second <= 20; second += 1) meter.add(second * 100, second);
    expect(meter.rate).toBe(100);
    for (let second = 21; second <= 26; second += 1) meter.add(2000, second);
    expect(meter.rate).toBe(0);
  });
});

describe('lines drawn in place', () => {
  it('replace each other, and permanent lines are printed above them', () => {
    const written: string[] = [];
    const painter = new Repainter((text) => written.push(text));
    painter.paint(['a', 'b']);
    painter.paint(['c']);
    painter.around(() => written.push('note\n'));
    expect(written).toEqual(['a\nb\n', '\r\u001b[2A\u001b[0Jc\n', '\r\u001b[1A\u001b[0J', 'note\n', 'c\n']);
  });

  it('are removed whole after the window became narrower', () => {
    const written: string[] = [];
    let columns = 80;
    const painter = new Repainter(
      (text) => written.push(text),
      () => columns,
    );
    painter.paint(['\u001b[32m'.padEnd(65, 'x'), 'short', '']);
    columns = 20;
    painter.paint(['next']);
    expect(written[1]).toBe('\r\u001b[5A\u001b[0Jnext\n');
  });
});

function summaryOf(receivers: readonly ReceiverSummary[], part: Partial<CastSummary> = {}): CastSummary {
  return {
    ...{ files: 3, directories: 1, links: 0, bytes: 40_000_000, sentFiles: 3, sentBytes: 40_000_000 },
    ...{ transferredBytes: 40_000_000, encrypted: true, seconds: 2, problems: [], problemCount: 0 },
    receivers,
    ...part,
  };
}
const complete = (host: string): ReceiverSummary => ({
  host,
  port: 7411,
  state: 'complete',
  attempts: 1,
  files: 3,
  bytes: 4,
  ...{ keptBytes: 0, resumedBytes: 0, unchangedFiles: 0, unchangedBytes: 0, removed: 0 },
});
const failed = (host: string, code: string): ReceiverSummary => ({
  ...complete(host),
  state: 'failed',
  files: 0,
  bytes: 0,
  code,
  message: 'why',
});
const nameOf = (host: string, port: number): string => `${host}:${port}`;

describe('an outcome', () => {
  it.each([
    ['all', 0, [complete('a'), complete('b')], 0],
    ['partial', 6, [complete('a'), failed('b', 'ERR_RDMC_RECEIVER_LOST')], 0],
    ['partial', 6, [complete('a')], 1],
    ['partial', 6, [failed('a', 'ERR_RDMC_PARTIAL')], 1],
    ['none', 4, [failed('a', 'ERR_RDMC_RECEIVER_LOST'), failed('b', 'ERR_RDMC_NO_SPACE')], 0],
    ['none', 5, [failed('a', 'ERR_RDMC_NO_SPACE')], 0],
    ['none', 3, [failed('a', 'ERR_RDMC_HASH_MISMATCH')], 0],
    ['none', 3, [failed('a', 'ERR_RDMC_DECRYPT_FAILED')], 0],
    ['none', 1, [failed('a', 'ERR_RDMC_READ_ONLY')], 0],
  ] as const)('%s: exit code %d', (kind, exitCode, receivers, problemCount) => {
    expect(outcomeOf(summaryOf(receivers, { problemCount }), [], nameOf)).toMatchObject({ kind, exitCode });
  });

  it('counts receivers that did not start', () => {
    const error = new CliError('ERR_RDMC_REMOTE_START', 'b: no directory', { advice: 'add --mkdir' });
    const outcome = outcomeOf(
      summaryOf([complete('a')]),
      [{ name: 'b', target: { host: 'b' }, error }],
      nameOf,
    );
    expect(outcome).toMatchObject({ kind: 'partial', exitCode: 6 });
    expect(describeLack(outcome, palette)).toEqual([
      'Incomplete:',
      '  b  ERR_RDMC_REMOTE_START: no directory',
      '  add --mkdir',
      'When the cause is fixed, send to these receivers again: the same command with --to b',
    ]);
  });

  it('is one sentence when all receivers have everything', () => {
    const lines = (receivers: readonly ReceiverSummary[]) =>
      describeSuccess(outcomeOf(summaryOf(receivers), [], nameOf), palette);
    expect(lines([complete('a')])).toEqual([
      'a:7411 has 3 files, 1 directory, 38.1 MiB, verified, encrypted, in 2.00 s, 19.1 MiB/s.',
    ]);
    expect(lines([complete('a'), complete('b')])).toEqual([
      'All 2 receivers have 3 files, 1 directory, 38.1 MiB, verified, encrypted, in 2.00 s, 19.1 MiB/s to each, 38.1 MiB/s in all.',
    ]);
  });

  it('tells what was sent where receivers had something already', () => {
    const text = (part: Partial<CastSummary>, receiver = complete('a')) =>
      describeSuccess(outcomeOf(summaryOf([receiver], part), [], nameOf), palette)[0];
    const head = 'a:7411 has 3 files, 1 directory, 38.1 MiB, ';
    expect(text({ encrypted: false })).toBe(`${head}verified, not encrypted, in 2.00 s, 19.1 MiB/s.`);
    expect(text({ compressedBytes: 9_000_000 })).toBe(
      `${head}verified, encrypted, compressed to 8.6 MiB, in 2.00 s, 19.1 MiB/s.`,
    );
    expect(text({ sentFiles: 0, sentBytes: 0 })).toBe(`${head}nothing to send, in 2.00 s.`);
    expect(text({ sentFiles: 1, sentBytes: 2_000_000 }, { ...complete('a'), removed: 2 })).toBe(
      `${head}of these 1 file, 1.9 MiB sent and verified, encrypted, 2 removed, in 2.00 s, 976.6 KiB/s.`,
    );
    expect(
      text(
        { sentFiles: 1, sentBytes: 2_000_000, transferredBytes: 65_536 },
        { ...complete('a'), keptBytes: 1 },
      ),
    ).toBe(
      `${head}of these 1 file, 1.9 MiB sent and verified, encrypted, 64 KiB transferred, in 2.00 s, 32 KiB/s.`,
    );
  });

  it('lists what is missing at which receiver', () => {
    const problems = [
      { path: 'x\ny', code: 'ERR_RDMC_FILE_CHANGED', message: 'changed' },
      { path: 'z', code: 'ERR_RDMC_PATH_CONFLICT', message: 'is a directory', receiver: 'b:7411' },
    ];
    const receivers = [
      complete('a'),
      failed('b', 'ERR_RDMC_PARTIAL'),
      { ...failed('c', 'ERR_RDMC_RECEIVER_LOST'), attempts: 3 },
    ];
    const outcome = outcomeOf(summaryOf(receivers, { problems, problemCount: 7 }), [], nameOf);
    expect(describeSuccess(outcome, palette)[0]).toMatch(/^1 of 3 receivers has 3 files/);
    expect(describeLack(outcome, palette)).toEqual([
      'Incomplete:',
      '  b:7411  ERR_RDMC_PARTIAL: why',
      '  c:7411  ERR_RDMC_RECEIVER_LOST: why (after 3 attempts)',
      'Not sent to any receiver:',
      '  x\\x0ay  ERR_RDMC_FILE_CHANGED: changed',
      'Missing at b:7411:',
      '  z  ERR_RDMC_PATH_CONFLICT: is a directory',
      '  … and 5 more',
      'When the cause is fixed, send to these receivers again: the same command with --to b:7411,c:7411',
    ]);
  });
});

/** A terminal that records its output. */
function keepingTerminal(): Terminal & {
  readonly lines: string[];
  readonly notes: string[];
  readonly documents: unknown[];
} {
  const [lines, notes, documents]: [string[], string[], unknown[]] = [[], [], []];
  return {
    ...{ palette, columns: 80, rows: 24, interactive: false, lines, notes, documents },
    out: (...added) => void lines.push(...added),
    note: (...added) => void notes.push(...added),
    json: (document) => void documents.push(document),
    line: (document) => void documents.push(document),
  };
}

describe('the report of a cast', () => {
  const route = {
    device: 'soft',
    reason: 'asked for',
    gid: null,
    transports: ['tcp'],
    transportReason: 'asked for',
    algorithm: 'chain',
    algorithmReason: 'two racks',
    messageBytes: 4 << 20,
    blockBytes: 65_536,
    blockReason: 'for 3 members',
    address: '10.0.0.1:5',
    encrypted: true,
    compression: null,
  } as const;
  const snapshots: CastProgress[] = [
    snapshot([receiver('a'), receiver('b')]),
    { ...snapshot([receiver('a', { state: 'complete' }), receiver('b')]), route },
    {
      ...snapshot([
        receiver('a', { state: 'complete' }),
        receiver('b', { state: 'failed', error: { code: 'E', message: 'm' } }),
      ]),
      route,
    },
    { ...snapshot([receiver('b', { state: 'connecting' })]), attempt: 2 },
    { ...snapshot([receiver('b', { state: 'complete' })]), attempt: 2 },
  ];

  it('consists of events with --json: every snapshot, the route once, each receiver when it ends', () => {
    const terminal = keepingTerminal();
    const reporter = new Reporter(terminal, { json: true, quiet: false, verbose: false });
    for (const one of snapshots) reporter.progress(one);
    const events = terminal.documents.map((document) => castEvent.parse(document));
    expect(events.filter(({ event }) => event === 'progress')).toHaveLength(snapshots.length);
    expect(events.filter(({ event }) => event === 'route')).toHaveLength(1);
    expect(
      events.flatMap((event) => (event.event === 'receiver' ? [[event.name, event.state, event.code]] : [])),
    ).toEqual([
      ['a', 'complete', null],
      ['b', 'failed', 'E'],
      ['b', 'complete', null],
    ]);
    expect(terminal.lines).toEqual([]);
  });

  it('consists of lines for logs', () => {
    const terminal = keepingTerminal();
    const reporter = new Reporter(terminal, { json: false, quiet: false, verbose: true });
    for (const one of snapshots) reporter.progress(one);
    reporter.remote('b', 'hello');
    expect(terminal.lines).toEqual([
      '  device     soft: asked for',
      '  GID        none: this device does not have an RDMA port',
      '  transport  TCP: asked for',
      '  schedule   chain: two racks',
      '  blocks     64 KiB, of messages of up to 4 MiB: for 3 members',
      '  encryption AES-256-GCM, from this machine to each receiver',
      '  address    10.0.0.1:5, at which receivers reach this machine',
      '  a complete',
      '  b failed: E m',
      '  b complete',
    ]);
    expect(terminal.notes).toEqual(['b: hello']);
  });

  it('has the device with its reason on stderr, also without --verbose', () => {
    const terminal = keepingTerminal();
    const reporter = new Reporter(terminal, { json: false, quiet: false, verbose: false });
    for (const one of snapshots) reporter.progress(one);
    expect(terminal.notes).toEqual(['  device soft (asked for), transport TCP (asked for)']);
    expect(terminal.lines).toEqual(['  a complete', '  b failed: E m', '  b complete']);
  });

  it('has only errors with --quiet', () => {
    const terminal = keepingTerminal();
    const reporter = new Reporter(terminal, { json: false, quiet: true, verbose: false });
    for (const one of snapshots) reporter.progress(one);
    reporter.finished(outcomeOf(summaryOf([complete('a')]), [], nameOf));
    expect([...terminal.lines, ...terminal.notes]).toEqual([]);
    reporter.finished(outcomeOf(summaryOf([complete('a'), failed('b', 'E')]), [], nameOf));
    expect(terminal.lines).toEqual([]);
    expect(terminal.notes[1]).toBe('  b:7411  E: why');
  });
});

describe('the report of a receiver’s device', () => {
  const event = {
    type: 'route',
    ...{ castId: 'c', from: 'hos\u001bt (10.0.0.1)', files: 1, bytes: 2 },
    ...{ device: 'ibverbs mlx5_0', reason: 'its port is active', gid: 'index 3' },
    ...{ transports: ['roce'], transportReason: 'the link layer of the device port' },
  } as const;
  const outputs = { json: false, quiet: false, verbose: false };

  it('is a line on stderr', () => {
    const terminal = keepingTerminal();
    new ReceiveReporter(terminal, outputs).happened(event);
    expect(terminal.lines).toEqual([]);
    expect(terminal.notes).toHaveLength(1);
    expect(terminal.notes[0]).not.toContain('\u001b');
    expect(terminal.notes[0]).toMatch(
      / \(10\.0\.0\.1\): device ibverbs mlx5_0 \(its port is active\), transport RoCE \(the link layer of the device port\)$/,
    );
  });

  it('is an event with --json, and nothing with --quiet', () => {
    const [json, quiet] = [keepingTerminal(), keepingTerminal()];
    new ReceiveReporter(json, { ...outputs, json: true }).happened(event);
    new ReceiveReporter(quiet, { ...outputs, quiet: true }).happened(event);
    const { type, ...facts } = event;
    expect(json.documents.map((one) => receiveEvent.parse(one))).toEqual([{ event: type, ...facts }]);
    expect([...json.notes, ...quiet.notes, ...quiet.lines]).toEqual([]);
  });
});

describe('a plan', () => {
  const options: CastCommandOptions = {
    paths: ['x'],
    inputName: undefined,
    targets: [{ host: 'a' }, { host: 'b' }, { host: 'c' }],
    remote: undefined,
    key: undefined,
    algorithm: undefined,
    rack: undefined,
    blockSize: 'auto',
    messageSize: undefined,
    checksum: 'gmac',
    encrypt: true,
    compress: false,
    bandwidthLimit: undefined,
    connectTimeoutMs: undefined,
    stallTimeoutMs: undefined,
    trafficClass: 0,
    serviceLevel: 0,
    retries: 0,
    resume: true,
    device: 'auto',
    transport: 'auto',
    advertise: undefined,
    ownPorts: undefined,
    waitFor: undefined,
    joinWindowMs: undefined,
    plan: true,
    dryRun: false,
    ...{ compare: 'size-time', filters: [], only: undefined },
    ...{
      update: false,
      existing: false,
      delete: false,
      archive: false,
      numericIds: false,
      wholeFiles: false,
    },
    verbose: false,
    quiet: false,
    json: false,
  };

  it('counts the steps of all messages', () => {
    const transfer = planTransfer(20 << 20, { ...options, messageSize: 8 << 20, blockSize: 1 << 20 });
    // Four messages of a little more than 4 MiB in 5 blocks, and one in 4 blocks; each has 2 - 1 extra steps with 4
    // members.
    expect(transfer).toMatchObject({
      algorithm: 'binomial-pipeline',
      messages: 5,
      messageBytes: (4 << 20) + (64 << 10),
      blocks: 24,
      steps: 29,
      timesOneCopy: 29 / 24,
    });
  });

  it('uses a chain by rack where all racks are known and shared', () => {
    const racked = {
      ...options,
      targets: options.targets.map(({ host }, i) => ({ host, rack: `r${i % 2}` })),
    };
    expect(planTransfer(1 << 20, racked)).toMatchObject({
      algorithm: 'chain',
      algorithmReason: '3 racks: ordered by rack, it crosses each uplink once',
    });
    expect(planTransfer(1 << 20, { ...racked, algorithm: 'hybrid' }).algorithmReason).toBe('asked for');
  });

  it('of an empty cast has no steps', () => {
    expect(planTransfer(0, options)).toMatchObject({ messages: 0, blocks: 0, steps: 0, timesOneCopy: 0 });
  });
});
