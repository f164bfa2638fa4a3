import { MultiBar, type SingleBar } from 'cli-progress';
import type { Palette } from '../ui/palette.js';
import type { Terminal } from '../ui/terminal.js';
import { formatBytes, formatSeconds } from '../ui/units.js';

/** Shows what each receiver is doing. */
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

function verdict(sha256: string, ok: boolean, palette: Palette): string {
  const short = `${sha256.slice(0, 12)}…`;
  return ok ? palette.green(`SHA-256 ${short} matches`) : palette.red(`SHA-256 ${short} DIFFERS`);
}

/** One bar per receiver: the first half fills while it receives, the second while it writes its file. */
class BarView implements ProgressView {
  readonly #multi: MultiBar;
  readonly #bars = new Map<number, SingleBar>();
  readonly #times = new Map<number, string>();

  constructor(
    members: number,
    private readonly byteLength: number,
    private readonly palette: Palette,
  ) {
    const width = String(members - 1).length;
    this.#multi = new MultiBar({
      format: `  member {member}  ${palette.cyan('{bar}')} {percentage}%  {what}`,
      barCompleteChar: '█',
      barIncompleteChar: '░',
      barsize: 30,
      hideCursor: true,
      clearOnComplete: false,
      stopOnComplete: false,
      gracefulExit: false,
      stream: process.stdout,
      fps: 20,
    });
    for (let member = 1; member < members; member += 1) {
      const label = String(member).padStart(width);
      this.#bars.set(member, this.#multi.create(2 * byteLength, 0, { member: label, what: 'starting' }));
    }
  }

  started(member: number, pid: number): void {
    this.#bars.get(member)!.update({ what: this.palette.dim(`process ${pid}`) });
  }

  receiving(member: number, bytes: number): void {
    this.#update(member, bytes, `receiving ${formatBytes(bytes)}`);
  }

  received(member: number, seconds: number): void {
    this.#times.set(member, `received in ${formatSeconds(seconds)}`);
    this.#update(member, this.byteLength, this.#time(member));
  }

  storing(member: number, bytes: number): void {
    this.#update(member, this.byteLength + bytes, `${this.#time(member)}, writing`);
  }

  hashing(member: number): void {
    this.#update(member, 2 * this.byteLength, `${this.#time(member)}, hashing`);
  }

  verified(member: number, sha256: string, ok: boolean): void {
    this.#update(member, 2 * this.byteLength, `${this.#time(member)}, ${verdict(sha256, ok, this.palette)}`);
  }

  stop(): void {
    this.#multi.stop();
  }

  #time(member: number): string {
    return this.#times.get(member) ?? '';
  }

  #update(member: number, value: number, what: string): void {
    this.#bars.get(member)!.update(value, { what });
  }
}

/** Prints a line per receiver when it starts and when it is done: for logs and pipes. */
class LineView implements ProgressView {
  readonly #times = new Map<number, string>();

  constructor(
    private readonly byteLength: number,
    private readonly terminal: Terminal,
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
    const { palette } = this.terminal;
    this.terminal.out(`  member ${member} done, ${this.#times.get(member)}, ${verdict(sha256, ok, palette)}`);
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
  members: number,
  byteLength: number,
  json: boolean,
): ProgressView {
  if (json) return SILENT;
  if (!terminal.interactive) return new LineView(byteLength, terminal);
  return new BarView(members, byteLength, terminal.palette);
}
