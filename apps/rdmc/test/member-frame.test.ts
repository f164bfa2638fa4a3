import { describe, expect, it } from 'vitest';
import { drawMembers, type MemberState } from '../src/demo/member-frame.js';
import { createPalette, visibleWidth } from '../src/ui/palette.js';

const SHA = '244dce3835b0'.padEnd(64, '0');
const BYTES = 32 << 20;

function states(count: number, change: Partial<MemberState> = {}): MemberState[] {
  return Array.from({ length: count }, (_, i) => ({
    member: i + 1,
    receivedBytes: 0,
    storedBytes: 0,
    phase: 'starting' as const,
    pid: 4_194_303,
    ...change,
  }));
}

const done = { receivedBytes: BYTES, storedBytes: BYTES, seconds: 0.09876, sha256: SHA };

function draw(
  members: readonly MemberState[],
  columns: number,
  { rows = 50, stores = true, colour = false } = {},
) {
  const palette = createPalette(colour);
  return drawMembers(members, { columns, rows, byteLength: BYTES, stores, palette });
}

describe('a line per receiver', () => {
  it.each([
    [50, '  member 1  ██████  SHA-256 244dce3835b0… matches'],
    [80, `  member 1  ${'█'.repeat(13)}  received in 98.8 ms, SHA-256 244dce3835b0… matches`],
    [100, `  member 1  ${'█'.repeat(30)}  received in 98.8 ms, SHA-256 244dce3835b0… matches`],
    [200, `  member 1  ${'█'.repeat(30)}  received in 98.8 ms, SHA-256 244dce3835b0… matches`],
  ])('has a whole hash and verdict at %d columns', (columns, line) => {
    expect(draw(states(7, { ...done, phase: 'verified' }), columns)[0]).toBe(line);
  });

  it.each([40, 50, 60, 80, 100, 200])(
    'fits at %d columns in every phase, whole names included',
    (columns) => {
      const phases = [
        'starting',
        'receiving',
        'received',
        'writing',
        'hashing',
        'verified',
        'wrong',
      ] as const;
      for (const phase of phases) {
        for (const members of [states(7, { ...done, phase }), states(63, { ...done, phase })]) {
          const lines = draw(members, columns, { rows: 100, colour: true });
          for (const [index, line] of lines.entries()) {
            expect(visibleWidth(line), `${phase}: ${line}`).toBeLessThan(columns);
            expect(line).toMatch(new RegExp(`^ {2}member +${index + 1} `));
          }
          if (phase === 'verified') expect(lines[0]).toContain('matches');
          if (phase === 'wrong') expect(lines[0]).toContain('DIFFERS');
        }
      }
    },
  );

  it('has a bar whose first half is for receiving where files are written', () => {
    const half = { phase: 'received', receivedBytes: BYTES, seconds: 1 } as const;
    expect(draw(states(1, half), 100)[0]).toContain(`${'█'.repeat(15)}${'░'.repeat(15)}`);
    expect(draw(states(1, half), 100, { stores: false })[0]).toContain('█'.repeat(30));
  });

  it('counts the receivers that the window has no room for', () => {
    const lines = draw(states(63), 80, { rows: 24 });
    expect(lines).toHaveLength(22);
    expect(lines.at(-1)).toBe('  … and 42 more');
  });
});
