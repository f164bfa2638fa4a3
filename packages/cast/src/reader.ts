import type { Checksum } from './checksum.js';
import type { FileSurvey } from './file-survey.js';
import { Filter } from './filters/filter.js';
import { ContentComparison } from './manifest/content-comparison.js';
import type { ManifestPiece } from './manifest/piece-encoder.js';
import { ProblemList } from './problems.js';
import type { Entry } from './reader/entries.js';
import { type InputOrder, InputStream } from './reader/input-stream.js';
import { checkListedRoot, ListedPath } from './reader/listed-paths.js';
import { ManifestReader } from './reader/manifest-reader.js';
import type { FilledMessage, MessageSource } from './reader/message-source.js';
import type { CastReport, EntryFacts, FillOrder, SurveyOrder } from './reader/orders.js';
import { resolveRoots } from './reader/roots.js';
import { unsentTotals, withDirectories } from './reader/selection.js';
import { StreamReader } from './reader/stream-reader.js';
import { Survey } from './reader/survey.js';
import { Totals } from './reader/totals.js';
import { MessageChecks } from './stream/message-check.js';
import { answerCalls } from './worker-calls.js';
import { WorkerRegions } from './worker-regions.js';

/** The sender's thread that walks directories, and reads and hashes files. */

let entries: readonly Entry[] = [];
let manifest: ManifestReader | undefined;
/** One for each stream of the cast. */
const streams: MessageSource[] = [];
/** Of the streams; undefined for all entries. */
const selections: (Uint8Array | undefined)[] = [];
/** Files that could not be sent completely, in any stream. */
const missing = new Set<number>();
let regions: WorkerRegions | undefined;
/** Set for a cast of an input. */
let input: InputOrder | undefined;
/** Of all streams, where a receiver needs them. */
let checks: MessageChecks | undefined;

/** An input is one file; its length is not known. */
const OF_INPUT: FileSurvey = {
  ...{ files: 1, directories: 0, links: 0, bytes: 0, contentBytes: 0 },
  ...{ problems: [], problemCount: 0 },
};

const calls = {
  survey({ paths, rules, listed, input: given }: SurveyOrder): FileSurvey {
    input = given;
    if (input) return OF_INPUT;
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
    checked,
  }: {
    readonly checksum: Checksum;
    readonly selection: Uint8Array | undefined;
    readonly checked: boolean;
  }): void {
    streams.at(-1)?.close();
    const all = selection && withDirectories(entries, selection);
    selections.push(selection);
    if (checked) checks ??= new MessageChecks(checksum);
    streams.push(
      input
        ? new InputStream(input, checksum, checks)
        : new StreamReader(entries, checksum, { selection: all, missing, checks }),
    );
  },

  fill({ region, byteLength, sequence, forgetBelow }: FillOrder): FilledMessage {
    const stream = streams.at(-1)!;
    stream.forget(forgetBelow);
    return stream.fill(sequence, regions!.buffer(region, byteLength));
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
