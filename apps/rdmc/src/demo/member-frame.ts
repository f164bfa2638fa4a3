import { bar } from '../ui/bar.js';
import type { Palette } from '../ui/palette.js';
import { formatBytes, formatSeconds } from '../ui/units.js';

/** What a receiver is doing. */
export interface MemberState {
  readonly member: number;
  readonly receivedBytes: number;
  readonly storedBytes: number;
  readonly phase: 'starting' | 'receiving' | 'received' | 'writing' | 'hashing' | 'verified' | 'wrong';
  readonly pid?: number;
  readonly seconds?: number;
  readonly sha256?: string;
}

export interface FrameContext {
  readonly columns: number;
  readonly rows: number;
  readonly byteLength: number;
  /** Whether receivers write files: then half of a bar is for receiving. */
  readonly stores: boolean;
  readonly palette: Palette;
}

const MOST_BAR = 30;
const LEAST_BAR = 6;
/** Spaces before, between and after the columns of a line; the last column of a terminal stays empty. */
const MARGINS = 7;
/** Lines that are not of a receiver: one that counts the hidden ones, and that of the cursor. */
const OTHER_LINES = 2;

/** The longest texts first: the first one is used that leaves enough columns for a bar. */
const VERDICTS: readonly ((time: string, hash: string, verdict: string) => string)[] = [
  (time, hash, verdict) => `received in ${time}, SHA-256 ${hash}… ${verdict}`,
  (_, hash, verdict) => `SHA-256 ${hash}… ${verdict}`,
  (_, __, verdict) => `SHA-256 ${verdict}`,
];
const LONGEST = ['1000.00 s', '0'.repeat(12), 'DIFFERS'] as const;
/** Texts of the other phases are at most this long. */
const PHASE_COLUMNS = 22;

interface Layout {
  readonly name: number;
  readonly bar: number;
  readonly verdict: (typeof VERDICTS)[number];
}

function layoutFor(members: readonly MemberState[], columns: number): Layout {
  const name = `member ${Math.max(...members.map(({ member }) => member))}`.length;
  const room = columns - name - MARGINS;
  const widths = VERDICTS.map((verdict) => Math.max(PHASE_COLUMNS, verdict(...LONGEST).length));
  const fitting = widths.findIndex((width) => room - width >= LEAST_BAR);
  const chosen = fitting === -1 ? VERDICTS.length - 1 : fitting;
  const left = room - widths[chosen]!;
  return { name, bar: left < LEAST_BAR ? 0 : Math.min(MOST_BAR, left), verdict: VERDICTS[chosen]! };
}

function words(state: MemberState, { verdict }: Layout, palette: Palette): string {
  const { phase, receivedBytes, seconds, sha256 = '', pid } = state;
  const time = formatSeconds(seconds ?? 0);
  const hash = sha256.slice(0, 12);
  switch (phase) {
    case 'starting':
      return palette.dim(pid === undefined ? 'waiting' : `process ${pid}`);
    case 'receiving':
      return `receiving ${formatBytes(receivedBytes)}`;
    case 'received':
      return seconds === undefined ? phase : `received in ${time}`;
    case 'verified':
      return palette.green(verdict(time, hash, 'matches'));
    case 'wrong':
      return palette.red(verdict(time, hash, 'DIFFERS'));
    default:
      return phase;
  }
}

function memberLine(state: MemberState, layout: Layout, context: FrameContext): string {
  const { byteLength, stores, palette } = context;
  const total = stores ? 2 * byteLength : byteLength;
  const done = Math.min(1, (state.receivedBytes + (stores ? state.storedBytes : 0)) / total);
  const name = `member ${String(state.member).padStart(layout.name - 'member '.length)}`;
  const parts = [name, palette.cyan(bar(done, done, layout.bar)), words(state, layout, palette)];
  return `  ${parts.filter((part) => part !== '').join('  ')}`;
}

/** A line with a bar for each receiver, as many as the window has room for. */
export function drawMembers(members: readonly MemberState[], context: FrameContext): string[] {
  const layout = layoutFor(members, context.columns);
  const rows = Math.max(1, context.rows - OTHER_LINES);
  if (members.length <= rows) return members.map((state) => memberLine(state, layout, context));
  const shown = members.slice(0, Math.max(1, rows - 1));
  const hidden = members.length - shown.length;
  return [...shown.map((state) => memberLine(state, layout, context)), `  … and ${hidden} more`];
}
