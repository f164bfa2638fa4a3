/** The suite must find faults: each faulty device fails in the chapter that covers its fault. */
import type { ChapterName, ComplianceSpec, PlacementName, TestRunner } from '@rdmc/verbs-compliance';
import { describe, expect, it } from 'vitest';

// The suite waits that long for a hidden completion, and reads the limit when it is loaded. Correct devices need less.
process.env.RDMC_TEST_LIMIT_MS = '5000';
const { defineComplianceSuite, SOFT_SHM } = await import('@rdmc/verbs-compliance');

type Body = () => Promise<void>;

/** Runs a suite outside vitest; returns the titles that failed and how many ran. */
async function run(spec: ComplianceSpec): Promise<{ failed: string[]; ran: number }> {
  const tests: [string, Body][] = [];
  const hooks: Record<'before' | 'after' | 'each', Body[]> = { before: [], after: [], each: [] };
  const runner: TestRunner = {
    describe: (_name, body) => body(),
    it: Object.assign((title: string, _options: object, body: Body) => tests.push([title, body]), {
      skip: () => undefined,
    }),
    beforeAll: (body) => hooks.before.push(body),
    afterAll: (body) => hooks.after.push(body),
    afterEach: (body) => hooks.each.push(body),
  };
  defineComplianceSuite(spec, runner);
  const failed: string[] = [];
  for (const hook of hooks.before) await hook();
  for (const [title, body] of tests) {
    await body().catch(() => failed.push(title));
    for (const hook of hooks.each) await hook();
  }
  for (const hook of hooks.after) await hook();
  return { failed, ran: tests.length };
}

function specWith(fault: string, chapter: ChapterName, placement: PlacementName = 'thread'): ComplianceSpec {
  const options = { device: 'soft', transport: 'shm', fault } as const;
  const device = { options, module: new URL('./faulty-device.mjs', import.meta.url).href };
  return { name: fault, features: SOFT_SHM, placement, device, chapters: [chapter], brief: true };
}

const FAULTS: readonly [string, ChapterName, RegExp, PlacementName?][] = [
  ['sends the byte before', 'sizes', /of 65 bytes/],
  ['loses bit 31 of immediates', 'requests', /carries all 32 bits/],
  ['cuts ids to 32 bits', 'requests', /ids are returned/],
  ['signals everything', 'signalling', /unsignalled requests/],
  ['completes in reverse', 'ordering', /in posting order/],
  ['hides flushes', 'receiver not ready', /rnrRetries 0 ends/],
  ['counts one byte too many', 'opcodes', /READ fetches/],
  ['does not revoke', 'barriers', /^revoke: after it returns/],
  ['misses some events', 'channels', /no wake-up is lost/],
  ['wakes for everything', 'channels', /armed for solicited/],
  ['fetches and adds twice', 'atomics', /additions of two initiators/],
  ['writes the second half first', 'ordering', /increasing address order/, 'worker'],
];

describe('a device that', () => {
  it.each(FAULTS)('%s fails in chapter %s', async (fault, chapter, title, placement) => {
    const { failed, ran } = await run(specWith(fault, chapter, placement));
    expect(failed.join('\n')).toMatch(title);
    expect(failed.length).toBeLessThan(ran);
  });

  it('has no fault passes these chapters', async () => {
    for (const chapter of ['requests', 'signalling', 'receiver not ready'] as const) {
      expect((await run(specWith('none', chapter))).failed).toEqual([]);
    }
  });
});
