import { concluded, partial } from './cast-conclusion.js';
import type { CastProgress } from './cast-progress.js';
import type { CastSummary, ReceiverSummary } from './cast-summary.js';
import { castTrace } from './cast-trace.js';
import type { CheckedCastOptions, Target } from './checked-cast-options.js';
import type { Latest } from './latest.js';
import { ProblemList } from './problems.js';
import type { Preview } from './sender/preview.js';
import { ProgressPublisher } from './sender/progress-publisher.js';
import type { ReceiverLink } from './sender/receiver-link.js';
import { Session, type SessionOutcome } from './sender/session.js';
import type { StreamTotals } from './stream/records.js';

const NOTHING: StreamTotals = { files: 0, directories: 0, symbolicLinks: 0, hardLinks: 0, bytes: 0 };

/** A cast with its retries. */
export class CastRun {
  readonly #publisher: ProgressPublisher;
  readonly #began = performance.now();
  readonly #receivers = new Map<string, ReceiverSummary>();
  readonly #receiverProblems = new Map<string, ProblemList>();
  /** Outcome of the attempt that got furthest, as seen by the sender. */
  #best: SessionOutcome | undefined;

  constructor(
    private readonly paths: readonly Uint8Array[],
    private readonly options: CheckedCastOptions,
    latest: Latest<CastProgress>,
  ) {
    this.#publisher = new ProgressPublisher(
      options.to.map(({ name }) => name),
      latest,
    );
  }

  run(): Promise<CastSummary> {
    return castTrace.promise(
      () => ({ paths: this.paths.length, receivers: this.options.to.map(({ name }) => name) }),
      () => this.#run(),
    );
  }

  async #run(): Promise<CastSummary> {
    try {
      let targets = this.options.to;
      for (let attempt = 1; attempt <= 1 + this.options.retries && targets.length > 0; attempt += 1) {
        targets = await this.#attempt(targets, attempt);
      }
      return concluded(this.#summary());
    } finally {
      this.#publisher.end();
    }
  }

  /** Returns the targets that it failed with. */
  async #attempt(targets: readonly Target[], attempt: number): Promise<readonly Target[]> {
    if (attempt > 1) this.#publisher.settle();
    this.#publisher.attempt = attempt;
    const outcome = await new Session(this.paths, targets, this.options, this.#publisher).run();
    for (const link of outcome.links) this.#note(link, attempt, outcome.preview);
    if (outcome.report || !this.#best) this.#best = outcome;
    return targets.filter(({ name }) => this.#receivers.get(name)?.state !== 'complete');
  }

  #note(link: ReceiverLink, attempts: number, preview: Preview | undefined): void {
    const { target, done, failure } = link;
    const { host, port, name } = target;
    const problems = new ProblemList();
    problems.addAll(
      (done?.problems ?? []).map((problem) => ({ ...problem, receiver: name })),
      done?.problemCount ?? 0,
    );
    this.#receiverProblems.set(name, problems);
    const lacking = done && done.problemCount > 0 ? partial(problems) : undefined;
    const error = failure ?? lacking;
    this.#receivers.set(name, {
      ...{ host, port, attempts },
      state: error ? 'failed' : 'complete',
      files: done?.files ?? 0,
      bytes: done?.bytes ?? 0,
      keptBytes: done?.keptBytes ?? 0,
      resumedBytes: done?.resumedBytes ?? 0,
      unchangedFiles: done?.unchangedFiles ?? 0,
      unchangedBytes: done?.unchangedBytes ?? 0,
      removed: done?.removed ?? 0,
      ...(done?.unset && { unset: done.unset }),
      ...(preview && { changes: preview.changes.get(link) ?? [] }),
      ...(error && { code: error.code, message: error.message }),
    });
  }

  #summary(): CastSummary {
    const { survey, report, preview } = this.#best!;
    const problems = new ProblemList();
    problems.addAll(survey.problems, survey.problemCount);
    if (report) problems.addAll(report.problems, report.problemCount);
    for (const { kept, count } of this.#receiverProblems.values()) problems.addAll(kept, count);
    const { totals = NOTHING, unsent = NOTHING } = report ?? {};
    return {
      files: totals.files + unsent.files,
      // A directory may be in several streams.
      directories: report ? survey.directories : 0,
      links: totals.symbolicLinks + totals.hardLinks + unsent.symbolicLinks + unsent.hardLinks,
      bytes: totals.bytes + unsent.bytes,
      sentFiles: preview?.files ?? totals.files,
      sentBytes: preview?.bytes ?? totals.bytes,
      encrypted: this.options.encrypt,
      transferredBytes: report?.contentBytes ?? 0,
      ...(report && this.options.compress && { compressedBytes: report.packedBytes }),
      seconds: (performance.now() - this.#began) / 1000,
      receivers: this.options.to.map(({ name }) => this.#receivers.get(name)!),
      problems: problems.kept,
      problemCount: problems.count,
    };
  }
}
