import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { MemberProcess } from '../src/cluster/member-process.js';

const MEMBER_SCRIPT = fileURLToPath(new URL('../dist/member.js', import.meta.url));

describe('a member process', () => {
  it('has its port also when that was reported before it was requested', async () => {
    const member = new MemberProcess(1, MEMBER_SCRIPT);
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
});
