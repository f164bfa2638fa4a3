import { ToldAttributes } from './archive/told-attributes.js';
import type { Checksum } from './checksum.js';
import type { FileSurvey } from './file-survey.js';
import { Filter } from './filters/filter.js';
import { ContentComparison } from './manifest/content-comparison.js';
import { ProblemList } from './problems.js';
import { type BlockedFile, BlockReader, type HashedBlocks, type HeadPiece } from './reader/block-reader.js';
import type { Entry } from './reader/entries.js';
import { type InputOrder, InputStream } from './reader/input-stream.js';
import { checkListedRoot, ListedPath } from './reader/listed-paths.js';
import { ManifestReader, type NextPiece } from './reader/manifest-reader.js';
import type { FilledMessage, MessageSource } from './reader/message-source.js';
import type {
  BeginOrder,
  CastReport,
  EntryFacts,
  FillOrder,
  RunOrder,
  SurveyOrder,
} from './reader/orders.js';
import { resolveRoots } from './reader/roots.js';
import { RunFiller } from './reader/run-filler.js';
import { unsentTotals, withDirectories } from './reader/selection.js';
import { SentFiles } from './reader/sent-files.js';
import { StreamReader } from './reader/stream-reader.js';
import { Survey } from './reader/survey.js';
import { Totals } from './reader/totals.js';
import { MessageChecks } from './stream/message-check.js';
import { answerCalls } from './worker-calls.js';
import { WorkerRegions } from './worker-regions.js';

/** The sender's thread that walks directories, and reads and hashes files. */

let survey: Survey | undefined;
/** Of the survey, which adds to them. */
let entries: readonly Entry[] = [];
/** In an archive cast. */
let told: ToldAttributes | undefined;
let manifest: ManifestReader | undefined;
let blocks: BlockReader | undefined;
let sent = new SentFiles(0);
/** One for each stream of the cast. */
const streams: MessageSource[] = [];
/** Of the streams; undefined for all entries. */
const selections: (Uint8Array | undefined)[] = [];
/** Files that could not be sent completely, in any stream. */
const missing = new Set<number>();
let regions: WorkerRegions | undefined;
/** Fills the messages of the current run. */
let filler: RunFiller | undefined;
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
  /** Checks the paths. Entries are listed when they are needed. */
  beginSurvey({ paths, rules, listed, archive, input: given }: SurveyOrder): void {
    input = given;
    if (input) return;
    const roots = resolveRoots(paths);
    if (listed) checkListedRoot(roots);
    told = archive && ToldAttributes.ofThisHost(archive.numericIds);
    survey = new Survey(roots, {
      told,
      filter: new Filter(rules),
      listed: listed && ListedPath.tree(listed),
      lazy: true,
    });
    entries = survey.entries;
  },

  /** Lists all entries. */
  finishSurvey(_: undefined): FileSurvey {
    if (input) return OF_INPUT;
    survey!.advance(Number.POSITIVE_INFINITY);
    sent = new SentFiles(entries.length);
    return survey!.totals;
  },

  /** Before the first piece of a manifest. */
  compare({ checksum, byContent }: { readonly checksum: Checksum; readonly byContent: boolean }): void {
    const contents = byContent ? new ContentComparison(checksum) : undefined;
    manifest = new ManifestReader(entries, contents, (count) => survey!.advance(count));
    blocks?.close();
    blocks = new BlockReader(entries, checksum);
  },

  piece(first: number): NextPiece {
    return manifest!.piece(first);
  },

  costs(_: undefined): Float64Array {
    return manifest!.costs();
  },

  facts(indices: Uint32Array): EntryFacts[] {
    return manifest!.facts(indices);
  },

  /** Of files of which receivers have older ones: those whose blocks are compared. */
  blockedFiles(indices: Uint32Array): BlockedFile[] {
    return blocks!.files(indices);
  },

  hashes({ index, first }: { readonly index: number; readonly first: number }): HashedBlocks | undefined {
    return blocks!.hashes(index, first);
  },

  head({ index, offset }: { readonly index: number; readonly offset: number }): HeadPiece | undefined {
    return blocks!.head(index, offset);
  },

  attach({ device }: { readonly device: number }): void {
    regions = new WorkerRegions(device);
  },

  begin({ checksum, selection, sentBlocks, checked, codec }: BeginOrder): void {
    streams.at(-1)?.close();
    blocks?.close();
    const all = selection && withDirectories(entries, selection);
    selections.push(selection);
    if (checked) checks ??= new MessageChecks(checksum);
    const parts = { ...(blocks && { blocks: blocks.sent(sentBlocks) }), sent, checks, told, codec };
    streams.push(
      input
        ? new InputStream(input, checksum, { checks, codec })
        : new StreamReader(entries, checksum, { selection: all, missing, ...parts }),
    );
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
    let [contentBytes, packedBytes] = [0, 0];
    for (const stream of streams) {
      totals.add(stream.totals);
      contentBytes += stream.contentBytes;
      packedBytes += stream.packedBytes;
      problems.addAll(stream.problems.kept, stream.problems.count);
    }
    return {
      // A file may be in several streams.
      totals: input ? { ...totals } : { ...totals, files: sent.files, bytes: sent.bytes },
      ...{ contentBytes, packedBytes },
      unsent: unsentTotals(entries, selections),
      problems: problems.kept,
      problemCount: problems.count,
    };
  },
};

export type ReaderCalls = typeof calls;

answerCalls(calls);
