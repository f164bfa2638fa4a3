import { describe, expect, it } from 'vitest';
import { SOFT_SHM } from '../src/features.js';
import { fillPattern, findMismatch } from '../src/pattern.js';
import { defineComplianceSuite } from '../src/suite.js';
import type { ComplianceSpec, TestRunner } from '../src/suite-context.js';

/** A runner that only records its tests. */
function recorder(): { runner: TestRunner; titles: string[]; skipped: string[] } {
  const titles: string[] = [];
  const skipped: string[] = [];
  const it = Object.assign((title: string) => titles.push(title), {
    skip: (title: string) => skipped.push(title),
  });
  const ignore = (): undefined => undefined;
  const describe = (_name: string, body: () => void): void => body();
  const runner = { describe, it, beforeAll: ignore, afterAll: ignore, afterEach: ignore };
  return { runner, titles, skipped };
}

const spec: ComplianceSpec = { name: 'x', features: SOFT_SHM, placement: 'process', device: {} };

describe('the suite', () => {
  it('skips only tests of missing features, and names the feature', () => {
    const full = recorder();
    defineComplianceSuite(spec, full.runner);
    const less = recorder();
    defineComplianceSuite({ ...spec, features: { ...SOFT_SHM, atomics: false } }, less.runner);
    const named = less.skipped.filter((title) => title.includes('[skipped: x has no atomics]'));
    expect(named.length).toBeGreaterThan(5);
    expect(less.skipped.length - named.length).toBeLessThanOrEqual(full.skipped.length);
    expect(less.titles.length).toBeLessThan(full.titles.length);
  });

  it('names the variable that enables a test, and the placement that lacks something', () => {
    const { runner, skipped } = recorder();
    defineComplianceSuite({ ...spec, placement: 'thread' }, runner);
    if (process.env.RDMC_TEST_LARGE !== '1') expect(skipped.join('\n')).toContain('set RDMC_TEST_LARGE=1');
    expect(skipped.join('\n')).toContain('two devices in one thread have no secondProcess');
  });

  it('gives every test of a suite a unique title', () => {
    const { runner, titles, skipped } = recorder();
    defineComplianceSuite(spec, runner);
    expect(new Set([...titles, ...skipped]).size).toBe(titles.length + skipped.length);
  });

  it('searches in a fifth of the rounds where it is brief, with the same tests', () => {
    const [all, brief] = [recorder(), recorder()];
    defineComplianceSuite({ ...spec, chapters: ['channels'] }, all.runner);
    defineComplianceSuite({ ...spec, chapters: ['channels'], brief: true }, brief.runner);
    expect(all.titles).toContain('no wake-up is lost in 10000 rounds of random timing');
    expect(brief.titles).toEqual(all.titles.map((title) => title.replace('10000', '2000')));
  });

  it('runs the requested chapters', () => {
    const { runner, titles } = recorder();
    defineComplianceSuite({ ...spec, chapters: ['signalling'] }, runner);
    expect(titles.length).toBeGreaterThan(3);
    expect(titles.length).toBeLessThan(10);
  });

  it.each([
    ['an unknown field', { ...spec, feature: {} }],
    ['an unknown placement', { ...spec, placement: 'moon' }],
    ['an unknown chapter', { ...spec, chapters: ['none'] }],
  ])('refuses %s', (_title, bad) => {
    const define = (): void => defineComplianceSuite(bad as unknown as ComplianceSpec, recorder().runner);
    expect(define).toThrow(expect.objectContaining({ code: 'ERR_RDMC_COMPLIANCE_SPEC' }));
  });
});

describe('the test pattern', () => {
  it('finds a changed byte, a shifted block and another stream', () => {
    const bytes = new Uint8Array(3_000_000);
    fillPattern(bytes, 7, 5);
    expect(findMismatch(bytes, 7, 5)).toBeNull();
    expect(findMismatch(bytes, 8, 5)).not.toBeNull();
    expect(findMismatch(bytes.subarray(1_000), 7, 5)).not.toBeNull();
    expect(findMismatch(bytes.subarray(1_000), 7, 1_005)).toBeNull();
    bytes[2_999_999]! ^= 1;
    expect(findMismatch(bytes, 7, 5)).toMatchObject({ at: 2_999_999 });
  });
});
