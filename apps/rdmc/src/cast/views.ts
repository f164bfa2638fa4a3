import type { CastProgress, CastRoute, ReceiverProgress } from '@rdmc/cast';
import { folded } from '../ui/fold.js';
import { printable } from '../ui/printable.js';
import { RateMeter } from '../ui/rate-meter.js';
import { Repainter } from '../ui/repainter.js';
import { describeRoute, routeLine } from '../ui/route.js';
import type { Terminal } from '../ui/terminal.js';
import { describeProgress, drawFrame } from './frame.js';
import { averageStored, isComplete } from './snapshot.js';

/** Shows a cast while it runs. */
export interface CastView {
  progress(snapshot: CastProgress): void;
  /** Shows the route of the bytes, once it is decided. */
  route(route: CastRoute): void;
  /** A receiver is complete, or failed. */
  settled(receiver: ReceiverProgress): void;
  /** Prints text of a remote receiver, or of the library. */
  note(line: string): void;
}

/** How a cast is shown. */
export interface ViewStyle {
  readonly verbose: boolean;
  /** Whether the length of what is cast is not known before its end. */
  readonly isStream: boolean;
}

const LINE_EVERY_SECONDS = 10;
function now(): number {
  return performance.now() / 1000;
}

/** Always prints the device and the reason for it, because the rates depend on it; the rest with --verbose. */
function printRoute(route: CastRoute, terminal: Terminal, verbose: boolean): void {
  if (verbose) terminal.out(...folded(terminal, describeRoute(route)));
  else terminal.note(...folded(terminal, [`  ${routeLine(route)}`]));
}

function settledLine(receiver: ReceiverProgress, { palette }: Terminal): string {
  if (isComplete(receiver)) return `  ${receiver.name} ${palette.green('complete')}`;
  const { code = 'failed', message = '' } = receiver.error ?? {};
  return `  ${receiver.name} ${palette.red('failed')}: ${printable(`${code} ${message}`.trim())}`;
}

/** A bar per receiver and one for all. */
export class BarView implements CastView {
  readonly #meter = new RateMeter();
  readonly #painter: Repainter;

  constructor(
    private readonly terminal: Terminal,
    private readonly style: ViewStyle,
    write: (text: string) => void,
  ) {
    this.#painter = new Repainter(write, () => terminal.columns);
  }

  progress(snapshot: CastProgress): void {
    this.#meter.add(averageStored(snapshot), now());
    if (snapshot.totalBytes === 0 && snapshot.phase === 'preparing') return;
    const { columns, rows, palette } = this.terminal;
    const { isStream } = this.style;
    this.#painter.paint(drawFrame(snapshot, { columns, rows, palette, rate: this.#meter.rate, isStream }));
  }

  route(route: CastRoute): void {
    this.#painter.around(() => printRoute(route, this.terminal, this.style.verbose));
  }

  settled(): void {}

  note(line: string): void {
    this.#painter.around(() => this.terminal.note(...folded(this.terminal, [line])));
  }
}

/** Prints a line for each event, and a progress line every ten seconds: for logs and pipes. */
export class LineView implements CastView {
  readonly #meter = new RateMeter();
  #shown = now();

  constructor(
    private readonly terminal: Terminal,
    private readonly style: ViewStyle,
  ) {}

  progress(snapshot: CastProgress): void {
    const time = now();
    this.#meter.add(averageStored(snapshot), time);
    if (time - this.#shown < LINE_EVERY_SECONDS) return;
    this.#shown = time;
    this.terminal.out(`  ${describeProgress(snapshot, this.#meter.rate, this.style.isStream)}`);
  }

  route(route: CastRoute): void {
    printRoute(route, this.terminal, this.style.verbose);
  }

  settled(receiver: ReceiverProgress): void {
    this.terminal.out(settledLine(receiver, this.terminal));
  }

  note(line: string): void {
    this.terminal.note(line);
  }
}
