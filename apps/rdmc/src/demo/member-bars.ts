import { Repainter } from '../ui/repainter.js';
import type { Terminal } from '../ui/terminal.js';
import { drawMembers, type MemberState } from './member-frame.js';

const PAINT_EVERY_MS = 50;

/** A bar for each receiver on a terminal, painted in place. */
export class MemberBars {
  readonly #states = new Map<number, MemberState>();
  readonly #painter: Repainter;
  #paintedAt = Number.NEGATIVE_INFINITY;
  #ended = false;

  constructor(
    private readonly terminal: Terminal,
    members: readonly number[],
    private readonly byteLength: number,
    private readonly stores: boolean,
    private readonly title?: string,
  ) {
    this.#painter = new Repainter(
      (text) => void process.stdout.write(text),
      () => terminal.columns,
    );
    for (const member of members) {
      this.#states.set(member, { member, receivedBytes: 0, storedBytes: 0, phase: 'starting' });
    }
  }

  /** Changes what is known of a receiver. A change of its phase is painted at once. */
  update(member: number, change: Partial<MemberState>): void {
    const before = this.#states.get(member);
    if (this.#ended || !before) return;
    this.#states.set(member, { ...before, ...change });
    const due = performance.now() - this.#paintedAt >= PAINT_EVERY_MS;
    if (due || (change.phase && change.phase !== before.phase)) this.#paint();
  }

  /** Ends the display. The bars stay, or are removed. */
  stop({ clear }: { readonly clear: boolean }): void {
    if (this.#ended) return;
    this.#ended = true;
    if (clear) this.#painter.paint([]);
    else this.#paint();
  }

  #paint(): void {
    this.#paintedAt = performance.now();
    const { columns, rows, palette } = this.terminal;
    const { byteLength, stores, title } = this;
    const head = title === undefined ? [] : [`  ${palette.bold(title)}`];
    const context = { columns, rows: rows - head.length, byteLength, stores, palette };
    this.#painter.paint([...head, ...drawMembers([...this.#states.values()], context)]);
  }
}
