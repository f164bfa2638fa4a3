import type { CastComplete, CastSummary, ReceiverSummary } from '@rdmc/cast';
import { automaticBlockSize } from '@rdmc/group';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { adviceFor, withAdvice } from '../src/advice.js';
import { blockBytesOf } from '../src/bench/multicast.js';
import { outcomeOf } from '../src/cast/outcome.js';
import { withoutName } from '../src/cast/receiver-text.js';
import { describeLack, describeSuccess } from '../src/cast/summary.js';
import { helpNotes } from '../src/commands/help.js';
import { CliError, fileError } from '../src/errors.js';
import { ExitCode } from '../src/exit-codes.js';
import { describeComplete, describeMissing, drawReceiving } from '../src/receive/summary.js';
import { fold, folded } from '../src/ui/fold.js';
import { createPalette, visibleWidth } from '../src/ui/palette.js';
import { errorLines } from '../src/ui/report-error.js';

const palette = createPalette(false);
const columns = fc.integer({ min: 50, max: 200 });

function systemError(code: string, errno: number, message: string): Error {
  return Object.assign(new Error(message), { code, errno });
}
const ENOENT = systemError('ENOENT', -2, "ENOENT: no such file or directory, open '/no/such'");

function receiver(host: string, part: Partial<ReceiverSummary> = {}): ReceiverSummary {
  const counts = {
    files: 1,
    bytes: 5,
    keptBytes: 0,
    resumedBytes: 0,
    unchangedFiles: 0,
    unchangedBytes: 0,
    removed: 0,
  };
  return { host, port: 7411, state: 'complete', attempts: 1, ...counts, ...part };
}
function outcome(receivers: readonly ReceiverSummary[], part: Partial<CastSummary> = {}) {
  const totals = { files: 1, directories: 0, links: 0, bytes: 5, sentFiles: 1, sentBytes: 5, seconds: 1 };
  const way = { transferredBytes: 5, encrypted: true };
  const summary = { ...totals, ...way, problems: [], problemCount: 0, receivers, ...part };
  return outcomeOf(summary, [], (host, port) => `${host}:${port}`);
}

describe('a line about a receiver', () => {
  it.each([
    ['n1:7411 cannot be reached: connection refused', 'cannot be reached: connection refused'],
    ['n1:7411: it is full', 'it is full'],
    ['n1:74110 is another', 'n1:74110 is another'],
    ['the group failed', 'the group failed'],
  ])('%j has the name once', (message, expected) => {
    expect(withoutName(message, 'n1:7411')).toBe(expected);
  });

  it('has the address once, also where its port is closed', () => {
    const code = 'ERR_RDMC_CAST_UNREACHABLE';
    const message = "n2:7411 cannot be reached: connection refused; is 'rdmc receive' running there?";
    const lines = describeLack(
      outcome([receiver('n1'), receiver('n2', { state: 'failed', code, message })]),
      palette,
    );
    for (const line of lines) expect(line.split('n2:7411').length - 1).toBeLessThanOrEqual(1);
    expect(lines[1]).toBe(
      `  n2:7411  ${code}: cannot be reached: connection refused; is 'rdmc receive' running there?`,
    );
  });

  it('is followed by the options that help, once for all receivers', () => {
    const part = { state: 'failed', code: 'ERR_RDMC_KEY_MISMATCH', message: 'another key' } as const;
    const lines = describeLack(outcome([receiver('a', part), receiver('b', part)]), palette);
    expect(lines.filter((line) => line.includes('--key-file') && line.includes('rdmc key'))).toHaveLength(1);
  });
});

describe('a cast that is not whole', () => {
  const problem = { path: 'x', code: 'ERR_RDMC_FILE_CHANGED', message: 'it changed' };

  it.each([
    ['a receiver failed', [receiver('a'), receiver('b', { state: 'failed', code: 'E' })], {}],
    ['an entry could not be sent', [receiver('a')], { problems: [problem], problemCount: 1 }],
    [
      'a receiver lacks entries, and had others',
      [receiver('a', { state: 'failed', code: 'ERR_RDMC_PARTIAL' })],
      { files: 2, problemCount: 1 },
    ],
  ])('is not called verified by the sender: %s', (_, receivers, part) => {
    const found = outcome(receivers, part);
    expect(found.exitCode).toBe(ExitCode.PARTIAL);
    expect(describeSuccess(found, palette).join(' ')).not.toContain('verified');
  });

  it('is called neither verified nor complete by the receiver', () => {
    const event: CastComplete = {
      ...{ type: 'complete', castId: 'c', from: 'host', files: 1, bytes: 3 << 20, seconds: 1.5 },
      ...{
        keptBytes: 0,
        resumedBytes: 0,
        unchangedFiles: 0,
        unchangedBytes: 0,
        removed: 0,
        directories: 0,
        links: 0,
      },
      ...{ problems: [problem], problemCount: 1 },
    };
    expect(describeComplete(event, palette)).toBe('Incomplete: 1 file, 3 MiB, in 1.50 s, 2 MiB/s, from host');
    expect(describeMissing(event, palette)).toEqual(['Missing:', '  x  ERR_RDMC_FILE_CHANGED: it changed']);
    const whole = { ...event, problems: [], problemCount: 0 };
    expect(describeComplete(whole, palette)).toBe(
      'Complete: 1 file, 3 MiB, verified, in 1.50 s, 2 MiB/s, from host',
    );
    expect(describeMissing(whole, palette)).toEqual([]);
    const asked = { ...whole, files: 0, bytes: 0, dryRun: true };
    expect(describeComplete(asked, palette)).toBe('Answered: nothing was changed here, from host');
  });
});

describe('an error', () => {
  it.each([
    ['of the system', ENOENT],
    ['of the system about a file', fileError('cannot read the list of paths /no/such', ENOENT)],
  ])('%s has its code and its path once', (_, error) => {
    const text = errorLines(error, palette, undefined).join('\n');
    expect(text.split('ENOENT')).toHaveLength(2);
    expect(text.split('/no/such')).toHaveLength(2);
    expect(text).toContain('no such file or directory');
  });

  it('without a code has its stack', () => {
    expect(errorLines(new Error('oops'), palette, undefined).length).toBeGreaterThan(2);
  });

  it.each([
    ['receive', 'ERR_RDMC_NOT_FOUND', '--mkdir'],
    ['receive', 'ERR_RDMC_READ_ONLY', '--dir'],
    ['receive', 'ERR_RDMC_KEY_REQUIRED', '--key-file'],
    ['cast', 'ERR_RDMC_KEY_REQUIRED', 'rdmc key'],
    ['cast', 'ERR_RDMC_KEY_MISMATCH', '--key-file'],
  ] as const)('of rdmc %s with the code %s names %s', (command, code, option) => {
    expect(adviceFor(code, command)).toContain(option);
    const advised = withAdvice(Object.assign(new Error('m'), { code }), command);
    expect(advised).toBeInstanceOf(CliError);
    expect(errorLines(advised, palette, undefined)[1]).toContain(option);
  });

  it('keeps its own advice', () => {
    const own = new CliError('ERR_RDMC_KEY_REQUIRED', 'm', { advice: 'mine' });
    expect(withAdvice(own, 'cast')).toBe(own);
  });
});

describe('lines for a window', () => {
  const word = fc.string({ minLength: 1, maxLength: 30, unit: fc.constantFrom('a', 'é', '/', ':') });

  it('of 50 to 200 columns are folded between words, and keep all words', () => {
    fc.assert(
      fc.property(fc.array(word, { maxLength: 60 }), fc.nat(8), columns, (words, indent, width) => {
        const line = `${' '.repeat(indent)}${words.join(' ')}`;
        const lines = fold(line, width);
        for (const each of lines) expect(visibleWidth(each)).toBeLessThanOrEqual(width);
        expect(lines.flatMap((each) => each.split(' ')).filter(Boolean)).toEqual(words);
      }),
    );
  });

  it('have further lines indented, and colours count nothing', () => {
    const red = createPalette(true).red('failed');
    expect(fold(`  name  ${red}: ${'x'.repeat(30)} end`, 40)).toEqual([
      `  name  ${red}:`,
      `    ${'x'.repeat(30)} end`,
    ]);
  });

  it('stay whole where the output is not a terminal', () => {
    const long = 'word '.repeat(50);
    expect(folded({ interactive: false, columns: 50 }, [long])).toEqual([long]);
  });

  it('of a bar of a receiver fit', () => {
    const event = { type: 'progress', castId: 'c', from: 'a-very-long-host-name.example (fd00::5)' } as const;
    fc.assert(
      fc.property(fc.maxSafeNat(), fc.maxSafeNat(), columns, (bytes, receivedBytes, width) => {
        const counts = { files: 1, bytes, receivedBytes, storedBytes: receivedBytes };
        expect(visibleWidth(drawReceiving({ ...event, ...counts }, width))).toBeLessThan(width);
      }),
    );
  });

  it('of a bar of a stream have no percentage: its length is not known', () => {
    const event = { type: 'progress', castId: 'c', from: 'a', files: 1, storedBytes: 0 } as const;
    expect(drawReceiving({ ...event, bytes: 0, receivedBytes: 5000 }, 100)).not.toContain('%');
    expect(drawReceiving({ ...event, bytes: 10_000, receivedBytes: 5000 }, 100)).toContain(' 50%');
  });

  it('of errors fit, with their advice', () => {
    const error = new CliError('ERR_RDMC_KEY_REQUIRED', 'word '.repeat(40).trim(), {
      advice: adviceFor('ERR_RDMC_KEY_REQUIRED', 'cast')!,
    });
    for (const width of [50, 80, 200])
      for (const line of errorLines(error, palette, width))
        expect(visibleWidth(line)).toBeLessThanOrEqual(width);
  });

  it('of help notes fit, and commands stay whole for a shell', () => {
    const command = "rdmc cast model/ --slurm --ssh --remote-shell 'srun --overlap -N1 -n1 -w'";
    const notes = {
      about: ['A paragraph of', 'words '.repeat(40).trim()],
      examples: [[command, 'in a Slurm job']] as const,
      exitCodes: [ExitCode.PARTIAL],
    };
    fc.assert(
      fc.property(columns, (width) => {
        const lines = helpNotes(notes, width);
        for (const line of lines) expect(visibleWidth(line), line).toBeLessThanOrEqual(width);
        const text = lines.join('\n').replaceAll(/ \\\n +/g, ' ');
        expect(text).toContain(`  $ ${command}`);
      }),
    );
  });
});

describe('the block size of rdmc bench multicast', () => {
  it('is the automatic one of the transport', () => {
    const plan = { members: 4, blockSize: 'auto' } as const;
    const [shm, tcp, roce] = (['shm', 'tcp', 'roce'] as const).map((transport) =>
      blockBytesOf(plan, transport, 64 << 20),
    );
    expect(tcp).not.toBe(shm);
    expect(roce).toBe(automaticBlockSize(64 << 20, 4, ['roce']));
    expect(blockBytesOf({ ...plan, blockSize: 4096 }, 'tcp', 64 << 20)).toBe(4096);
  });
});
