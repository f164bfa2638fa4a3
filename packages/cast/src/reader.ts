import type { Checksum } from './checksum.js';
import type { FileSurvey } from './file-survey.js';
import type { Entry } from './reader/entries.js';
import type { CastReport, FillOrder } from './reader/orders.js';
import { resolveRoots } from './reader/roots.js';
import { type FilledMessage, StreamReader } from './reader/stream-reader.js';
import { Survey } from './reader/survey.js';
import { answerCalls } from './worker-calls.js';
import { WorkerRegions } from './worker-regions.js';

/** The sender's thread that walks directories, and reads and hashes files. */

let entries: readonly Entry[] = [];
let stream: StreamReader | undefined;
let regions: WorkerRegions | undefined;

const calls = {
  survey(paths: readonly Uint8Array[]): FileSurvey {
    const survey = new Survey(resolveRoots(paths));
    entries = survey.entries;
    return survey.totals;
  },

  begin({ device, checksum }: { readonly device: number; readonly checksum: Checksum }): void {
    regions = new WorkerRegions(device);
    stream = new StreamReader(entries, checksum);
  },

  fill({ region, byteLength, sequence, forgetBelow }: FillOrder): FilledMessage {
    stream!.forget(forgetBelow);
    return stream!.fill(sequence, regions!.buffer(region, byteLength));
  },

  report(_: undefined): CastReport {
    const { totals, problems, messages } = stream!;
    return { totals: { ...totals }, messages, problems: problems.kept, problemCount: problems.count };
  },
};

export type ReaderCalls = typeof calls;

answerCalls(calls);
