import { type ChildProcess, fork } from 'node:child_process';
import { on, once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryDirectory } from '@rdmc/testing';
import { describe, expect, it } from 'vitest';
import { MemberProcess } from '../src/cluster/member-process.js';
import type { Report } from '../src/cluster/messages.js';

const MEMBER_SCRIPT = fileURLToPath(new URL('../dist/member.js', import.meta.url));

/** Resolves when it has reported something of that type. */
async function nextReport(child: ChildProcess, wanted: Report['type']): Promise<void> {
  for await (const [{ type }] of on(child, 'message') as AsyncIterable<[Report]>) if (type === wanted) return;
}

describe('a member process', () => {
  it('has its port also when that was reported before it was requested', async () => {
    const member = new MemberProcess(1, [], MEMBER_SCRIPT);
    try {
      const told = await new Promise<number>((resolve) => {
        member.onReport((report) => report.type === 'listening' && resolve(report.port));
      });
      expect(told).toBeGreaterThan(0);
      expect(await member.listening).toBe(told);
    } finally {
      member.kill();
      expect((await member.ended).signal).toBe('SIGKILL');
    }
  });

  it.each([
    ['it has no command yet', false],
    ['it has failed before it notices that', true],
  ])('removes the folders of a parent that is gone where %s', async (_, fails) => {
    const folders = [temporaryDirectory(), temporaryDirectory()];
    for (const folder of folders) writeFileSync(join(folder, 'source'), 'contents');
    const child = fork(MEMBER_SCRIPT, folders, { execArgv: [] });
    if (fails) {
      await nextReport(child, 'listening');
      child.kill('SIGTERM');
      await nextReport(child, 'failed');
    }
    // The end of its channel, as at a parent that was killed.
    child.disconnect();
    expect(await once(child, 'exit')).toEqual([0, null]);
    expect(folders.filter((folder) => existsSync(folder))).toEqual([]);
  });
});
