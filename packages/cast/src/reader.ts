import type { Checksum } from './checksum.js';
import type { FileSurvey } from './file-survey.js';
import { Filter } from './filters/filter.js';
import { ContentComparison } from './manifest/content-comparison.js';
import type { ManifestPiece } from './manifest/piece-encoder.js';
import { ProblemList } from './problems.js';
import type { Entry } from './reader/entries.js';
import { checkListedRoot, ListedPath } from './reader/listed-paths.js';
import { ManifestReader } from './reader/manifest-reader.js';
import type { CastReport, EntryFacts, FillOrder, RunOrder, SurveyOrder } from './reader/orders.js';
import { resolveRoots } from './reader/roots.js';
import { RunFiller } from './reader/run-filler.js';
import { unsentTotals, withDirectories } from './reader/selection.js';
import { type FilledMessage, StreamReader } from './reader/stream-reader.js';
import { Survey } from './reader/survey.js';
import { Totals } from './reader/totals.js';
import { answerCalls } from './worker-calls.js';
import { WorkerRegions } from './worker-regions.js';

/** The sender's thread that walks directories, and reads and hashes files. */

let entries: readonly Entry[] = [];
let manifest: ManifestReader | undefined;
/** One for each stream of the cast. */
const streams: StreamReader[] = [];
/** Of the streams; undefined for all entries. */
const selections: (Uint8Array | undefined)[] = [];
/** Files that could not be sent completely, in any stream. */
const missing = new Set<number>();
let regions: WorkerRegions | undefined;
/** Fills the messages of the current run. */
let filler: RunFiller | undefined;

const calls = {
  survey({ paths, rules, listed }: SurveyOrder): FileSurvey {
    const roots = resolveRoots(paths);
    if (listed) checkListedRoot(roots);
    const survey = new Survey(roots, {
      filter: new Filter(rules),
      listed: listed && ListedPath.tree(listed),
    });
    entries = survey.entries;
    return survey.totals;
  },

  /** Before the first piece of a manifest. Returns the number of entries. */
  compare({ checksum, byContent }: { readonly checksum: Checksum; readonly byContent: boolean }): number {
    manifest = new ManifestReader(entries, byContent ? new ContentComparison(checksum) : undefined);
    return entries.length;
  },

  piece(first: number): ManifestPiece {
    return manifest!.piece(first);
  },

  costs(_: undefined): Float64Array {
    return manifest!.costs();
  },

  facts(indices: Uint32Array): EntryFacts[] {
    return manifest!.facts(indices);
  },

  attach({ device }: { readonly device: number }): void {
    regions = new WorkerRegions(device);
  },

  /** Begins a stream. @param order.selection a byte of `Selected` for each entry; undefined for all entries */
  begin({
    checksum,
    selection,
  }: {
    readonly checksum: Checksum;
    readonly selection: Uint8Array | undefined;
  }): void {
    streams.at(-1)?.close();
    const all = selection && withDirectories(entries, selection);
    selections.push(selection);
    streams.push(new StreamReader(entries, checksum, { selection: all, missing }));
  },

  /** Begins a run of the last stream. */
  enterRun(order: RunOrder): void {
    filler = new RunFiller(streams.at(-1)!, order);
  },

  fill({ region, byteLength, sequence, forgetBelow }: FillOrder): FilledMessage {
    streams.at(-1)!.forget(forgetBelow);
    return filler!.fill(sequence, regions!.buffer(region, byteLength));
  },

  report(_: undefined): CastReport {
    const totals = new Totals();
    const problems = new ProblemList();
    for (const stream of streams) {
      totals.add(stream.totals);
      problems.addAll(stream.problems.kept, stream.problems.count);
    }
    return {
      totals: { ...totals },
      unsent: unsentTotals(entries, selections),
      problems: problems.kept,
      problemCount: problems.count,
    };
  },
};

export type ReaderCalls = typeof calls;

answerCalls(calls);
