import type { Terminal } from '../ui/terminal.js';
import { formatBytes, formatSeconds } from '../ui/units.js';
import { MemberBars } from './member-bars.js';

/** Shows what each receiver of the verified file is doing. */
export interface ProgressView {
  started(member: number, pid: number): void;
  receiving(member: number, bytes: number): void;
  received(member: number, seconds: number): void;
  storing(member: number, bytes: number): void;
  hashing(member: number): void;
  verified(member: number, sha256: string, ok: boolean): void;
  /** Ends the display: all is done, or an error will be printed. */
  stop(): void;
}

/** One bar per receiver: the first half fills while it receives, the second while it writes its file. */
class BarView implements ProgressView {
  readonly #bars: MemberBars;

  constructor(
    terminal: Terminal,
    members: readonly number[],
    private readonly byteLength: number,
  ) {
    this.#bars = new MemberBars(terminal, members, byteLength, true);
  }

  started(member: number, pid: number): void {
    this.#bars.update(member, { pid });
  }

  receiving(member: number, receivedBytes: number): void {
    this.#bars.update(member, { phase: 'receiving', receivedBytes });
  }

  received(member: number, seconds: number): void {
    this.#bars.update(member, { phase: 'received', receivedBytes: this.byteLength, seconds });
  }

  storing(member: number, storedBytes: number): void {
    this.#bars.update(member, { phase: 'writing', storedBytes });
  }

  hashing(member: number): void {
    this.#bars.update(member, { phase: 'hashing', storedBytes: this.byteLength });
  }

  verified(member: number, sha256: string, ok: boolean): void {
    this.#bars.update(member, { phase: ok ? 'verified' : 'wrong', sha256 });
  }

  stop(): void {
    this.#bars.stop({ clear: false });
  }
}

/** Prints a line per receiver when it starts and when it is done: for logs and pipes. */
class LineView implements ProgressView {
  readonly #times = new Map<number, string>();

  constructor(
    private readonly terminal: Terminal,
    private readonly byteLength: number,
  ) {}

  started(member: number, pid: number): void {
    this.terminal.out(`  member ${member} started, process ${pid}`);
  }

  receiving(): void {}

  received(member: number, seconds: number): void {
    this.#times.set(member, `${formatBytes(this.byteLength)} received in ${formatSeconds(seconds)}`);
  }

  storing(): void {}

  hashing(): void {}

  verified(member: number, sha256: string, ok: boolean): void {
    const verdict = `SHA-256 ${sha256.slice(0, 12)}… ${ok ? 'matches' : 'DIFFERS'}`;
    this.terminal.out(`  member ${member} done, ${this.#times.get(member)}, ${verdict}`);
  }

  stop(): void {}
}

const SILENT: ProgressView = {
  started() {},
  receiving() {},
  received() {},
  storing() {},
  hashing() {},
  verified() {},
  stop() {},
};

/** Bars on a terminal, lines elsewhere, nothing with `--json`. */
export function createProgressView(
  terminal: Terminal,
  members: readonly number[],
  byteLength: number,
  json: boolean,
): ProgressView {
  if (json) return SILENT;
  if (!terminal.interactive) return new LineView(terminal, byteLength);
  return new BarView(terminal, members, byteLength);
}
