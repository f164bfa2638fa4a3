import type { CastLogger, CastProgress, ReceiverProgress } from '@rdmc/cast';
import { problemEvent } from '../receive/events.js';
import { describeUnset } from '../receive/unset.js';
import { folded } from '../ui/fold.js';
import type { Terminal } from '../ui/terminal.js';
import type { CastEvent, CastEventOf } from './events.js';
import { isGathering, Joining } from './gathering.js';
import type { CastCommandOptions } from './options.js';
import { LACKS_SOME, type Outcome } from './outcome.js';
import { changeEvent, describeChanges, describePreview } from './preview.js';
import { describeResumed } from './resumed.js';
import { isComplete, isFailed } from './snapshot.js';
import { describeLack, describeSuccess } from './summary.js';
import { BarView, type CastView, LineView } from './views.js';

const SILENT: CastView = { progress() {}, route() {}, settled() {}, note() {} };

function progressEvent(snapshot: CastProgress): CastEventOf<'progress'> {
  const { phase, attempt, totalBytes, totalFiles, sentBytes, keptBytes, receivers } = snapshot;
  return {
    event: 'progress',
    ...{ phase, attempt, totalBytes, totalFiles, sentBytes, keptBytes },
    receivers: receivers.map(({ name, state, receivedBytes, storedBytes, resumedBytes }) => ({
      ...{ name, state, receivedBytes, storedBytes, resumedBytes },
    })),
  };
}

function finishedEvent({ kind, exitCode, summary, receivers }: Outcome): CastEventOf<'finished'> {
  const { files, directories, links, bytes, seconds, problemCount } = summary;
  const { sentFiles, sentBytes, transferredBytes, compressedBytes = null, encrypted } = summary;
  return {
    event: 'finished',
    outcome: kind,
    ...{ exitCode, files, directories, links, bytes, sentFiles, sentBytes },
    ...{ transferredBytes, compressedBytes, encrypted, seconds },
    receivers: receivers.map(({ changes: _, advice: _advice, unset = null, ...receiver }) => ({
      ...receiver,
      unset,
    })),
    problems: summary.problems.map(problemEvent),
    problemCount,
  };
}

type Outputs = Pick<CastCommandOptions, 'json' | 'quiet' | 'verbose'> &
  Partial<Pick<CastCommandOptions, 'dryRun' | 'inputName' | 'waitFor' | 'joinWindowMs'>>;

/** Reports a cast: to a person by a view, or to a program by events. */
export class Reporter {
  readonly #view: CastView;
  readonly #settled = new Map<string, string>();
  #routed = false;
  /** The attempt for which resumed bytes were reported. */
  #resumed = 0;
  #joining: Joining | undefined;

  constructor(
    private readonly terminal: Terminal,
    private readonly outputs: Outputs,
  ) {
    this.#view = this.#createView();
  }

  emit(event: CastEvent): void {
    if (this.outputs.json) this.terminal.line(event);
  }

  /** Lines for people, on stdout; not with --json or --quiet. */
  say(...lines: readonly string[]): void {
    if (!this.outputs.json && !this.outputs.quiet) this.terminal.out(...folded(this.terminal, lines));
  }

  progress(snapshot: CastProgress): void {
    if (snapshot.route && !this.#routed) {
      this.#routed = true;
      this.#view.route(snapshot.route);
      this.emit({ event: 'route', ...snapshot.route, transports: [...snapshot.route.transports] });
    }
    this.#reportJoined(snapshot);
    this.#reportResumed(snapshot);
    for (const receiver of snapshot.receivers) this.#reportReceiver(receiver);
    this.#view.progress(snapshot);
    this.emit(progressEvent(snapshot));
  }

  /** Prints text of a remote receiver to stderr, prefixed with its host, also with --json and --quiet. */
  remote(host: string, line: string): void {
    const text = `${host}: ${line}`;
    if (this.#view === SILENT) this.terminal.note(text);
    else this.#view.note(text);
  }

  /** Prints the library's log, with --verbose. */
  get logger(): CastLogger | undefined {
    if (!this.outputs.verbose) return undefined;
    const log = (details: object, message: string): void => {
      const text = `  ${message} ${this.terminal.palette.dim(JSON.stringify(details))}`;
      if (this.#view === SILENT) this.terminal.note(text);
      else this.#view.note(text);
    };
    return { debug: log, info: log, warn: log, error: log };
  }

  finished(outcome: Outcome): void {
    const { palette } = this.terminal;
    this.emit(finishedEvent(outcome));
    if (outcome.kind !== 'none') this.say(...describeSuccess(outcome, palette));
    this.#noteUnset(outcome);
    const lack = describeLack(outcome, palette);
    if (lack.length > 0 && !this.outputs.json) this.terminal.note(...folded(this.terminal, lack));
  }

  /** The end of a dry run. */
  previewed(outcome: Outcome): void {
    const { palette } = this.terminal;
    for (const { name, changes = [], state, code } of outcome.receivers) {
      for (const change of changes) this.emit(changeEvent(name, change));
      const isCompared = state === 'complete' || code === LACKS_SOME;
      if (isCompared) this.say(...describeChanges(name, changes, palette));
    }
    this.emit(finishedEvent(outcome));
    if (outcome.kind !== 'none') this.say(describePreview(outcome.receivers, outcome.summary));
    const lack = describeLack(outcome, palette);
    if (lack.length > 0 && !this.outputs.json) this.terminal.note(...folded(this.terminal, lack));
  }

  /** What receivers have not set in an archive cast. */
  #noteUnset({ receivers }: Outcome): void {
    if (this.outputs.json || this.outputs.quiet) return;
    const lines = receivers.flatMap(({ name, unset }) => (unset ? [describeUnset(name, unset)] : []));
    if (lines.length > 0) this.terminal.note(...folded(this.terminal, lines));
  }

  /** Once for each attempt, when all receivers have told what they have. */
  #reportResumed({ phase, attempt, receivers }: CastProgress): void {
    const isKnown = phase === 'sending' || phase === 'finishing';
    if (!isKnown || this.#resumed >= attempt) return;
    this.#resumed = attempt;
    const line = describeResumed(receivers);
    if (line !== undefined && this.#view !== SILENT) this.#view.note(line);
  }

  /** In a cast to receivers that begin at different times. */
  #reportJoined(snapshot: CastProgress): void {
    if (!isGathering(this.outputs)) return;
    const { waitFor = 1 } = this.outputs;
    this.#joining ??= new Joining(waitFor, snapshot.receivers.length);
    for (const joined of this.#joining.next(snapshot)) {
      this.emit({ event: 'joined', ...joined });
      if (this.#view !== SILENT) this.#view.note(this.#joining.describe(joined));
    }
  }

  #reportReceiver(receiver: ReceiverProgress): void {
    const { name, state, error } = receiver;
    if (this.#settled.get(name) === state) return;
    if (!isComplete(receiver) && !isFailed(receiver)) {
      this.#settled.delete(name);
      return;
    }
    this.#settled.set(name, state);
    // A dry run does not complete anything.
    if (!this.outputs.dryRun || isFailed(receiver)) this.#view.settled(receiver);
    const settled = state === 'complete' ? 'complete' : 'failed';
    const failure = { code: error?.code ?? null, message: error?.message ?? null };
    this.emit({ event: 'receiver', name, state: settled, ...failure });
  }

  #createView(): CastView {
    const { json, quiet, verbose, inputName } = this.outputs;
    const style = { verbose, isStream: inputName !== undefined };
    if (json || quiet) return SILENT;
    if (!this.terminal.interactive) return new LineView(this.terminal, style);
    return new BarView(this.terminal, style, (text) => void process.stdout.write(text));
  }
}
