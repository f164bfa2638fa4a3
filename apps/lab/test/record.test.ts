import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { readRecord, readRecords, recordOf } from '../src/record/read.js';
import { writeRecord } from '../src/record/write.js';
import { RECORD } from './support/record.js';

/** Writes changed JSON of the record, and returns the error of reading it. */
function errorOf(change: (json: Record<string, unknown>) => unknown): unknown {
  const path = writeRecord(temporaryDirectory('lab'), RECORD);
  writeFileSync(path, JSON.stringify(change(JSON.parse(readFileSync(path, 'utf8')))));
  return thrownBy(() => readRecord(path));
}

function thrownBy(call: () => unknown): unknown {
  try {
    call();
  } catch (error) {
    return error;
  }
  return undefined;
}

const panels = (change: object) => (json: Record<string, unknown>) => ({
  ...json,
  panels: [{ ...(json.panels as object[])[0], ...change }],
});

describe('a record', () => {
  it('is read as it was written', () => {
    const folder = temporaryDirectory('lab');
    const path = writeRecord(folder, RECORD);
    expect(path).toBe(join(folder, 'rdmc-8.simulated.json'));
    expect(readRecord(path)).toEqual(RECORD);
    expect(readRecords(folder)).toEqual([RECORD]);
    expect(recordOf(folder, 'rdmc-8', 'simulated')).toEqual(RECORD);
    expect(recordOf(folder, 'rdmc-8', 'netlab')).toBeUndefined();
  });

  it('has each list of numbers in one line', () => {
    const text = readFileSync(writeRecord(temporaryDirectory('lab'), RECORD), 'utf8');
    expect(text).toContain('"values": [1.5, null, 1e-7]');
    expect(text).toContain('"values": ["a, b", "c]", "\\"d\\""]');
  });

  it('replaces an earlier one', () => {
    const folder = temporaryDirectory('lab');
    writeRecord(folder, RECORD);
    writeRecord(folder, { ...RECORD, date: '2026-12-01' });
    expect(readRecords(folder).map(({ date }) => date)).toEqual(['2026-12-01']);
  });

  it('of another version is refused, with both versions and its name', () => {
    expect(errorOf((json) => ({ ...json, version: 7 }))).toMatchObject({
      code: 'ERR_RDMC_RECORD_VERSION',
      message: 'rdmc-8.simulated.json has version 7 of the format, and this program reads version 1',
    });
  });

  it('that is cut short is refused, with its name', () => {
    const path = writeRecord(temporaryDirectory('lab'), RECORD);
    const text = readFileSync(path, 'utf8');
    for (const length of [0, 1, Math.floor(text.length / 2), text.length - 3]) {
      writeFileSync(path, text.slice(0, length));
      expect(thrownBy(() => readRecord(path))).toMatchObject({
        code: 'ERR_RDMC_RECORD_DAMAGED',
        message: expect.stringContaining(
          'rdmc-8.simulated.json is not JSON, perhaps because it was cut short',
        ),
      });
    }
  });

  it.each([
    [
      'without a version',
      ({ version: _, ...json }: Record<string, unknown>) => json,
      'does not have a version',
    ],
    ['that is not an object', () => null, 'does not have a version'],
    [
      'with a field that does not exist',
      (json: object) => ({ ...json, colour: 1 }),
      "there is no field 'colour'",
    ],
    [
      'of an unknown kind',
      (json: object) => ({ ...json, kind: 'guessed' }),
      'kind: needed measured or predicted',
    ],
    ['without panels', (json: object) => ({ ...json, panels: [] }), 'panels: needed a list'],
    ['of another figure', (json: object) => ({ ...json, figure: 'rdmc-9' }), 'is the record of rdmc-9'],
    [
      'with a number too few',
      panels({ series: [{ name: 's', values: [1, 2] }] }),
      's has 2 values for 3 of x',
    ],
    [
      'with 0 on a logarithmic scale',
      panels({ series: [{ name: 's', values: [1, 0, 2] }], y: { label: 'y', scale: 'log10', digits: 0 } }),
      'a logarithmic scale does not have',
    ],
    [
      'with a name on a logarithmic scale of x',
      panels({ x: { label: 'x', scale: 'log2', values: [1, 2, 'many'] } }),
      'x has a value that a logarithmic scale does not have',
    ],
    [
      'with nothing',
      panels({ series: [{ name: 's', values: [null, null, null] }] }),
      'does not have a value',
    ],
  ])('%s is refused', (_, change, message) => {
    expect(errorOf(change)).toMatchObject({
      code: 'ERR_RDMC_RECORD_DAMAGED',
      message: expect.stringContaining(message),
    });
  });

  it('need not exist', () => {
    expect(readRecords(join(temporaryDirectory('lab'), 'none'))).toEqual([]);
  });
});
