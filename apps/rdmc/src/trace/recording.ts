import { rm } from 'node:fs/promises';
import { TraceFile } from '@rdmc/dataplane/trace';
import { CliError, codeOf, messageOf } from '../errors.js';
import type { Terminal } from '../ui/terminal.js';
import { traceDocument } from './document.js';
import { readTraces, writeTrace } from './files.js';
import { formatOf } from './format.js';
import { checkOutput } from './output.js';
import { describeDelays } from './report.js';

/** An error of the file with the code of the system, if that gave one: its exit code tells a full disk from others. */
function withSystemCode(error: unknown): unknown {
  const code = codeOf(error) === 'ERR_RDMC_TRACE_WRITE' ? codeOf((error as Error).cause) : undefined;
  return code === undefined ? error : new CliError(code, messageOf(error), { cause: error });
}

/** The trace of this process while a command runs; written in the wanted form at its end. */
export class Recording {
  private constructor(
    private readonly path: string,
    /** For the options of a library. */
    readonly file: TraceFile,
  ) {}

  /** @throws CliError if the file cannot be written */
  static async begin(path: string): Promise<Recording> {
    checkOutput(path);
    const records = formatOf(path) === 'records' ? path : `${path}.records`;
    try {
      return new Recording(path, await TraceFile.create(records));
    } catch (error) {
      throw withSystemCode(error);
    }
  }

  /** Writes the file, and says who delays whom, as far as this process saw it. */
  async end(terminal: Pick<Terminal, 'note'> | undefined): Promise<void> {
    const { path, file } = this;
    await file.close().catch((error: unknown) => {
      throw withSystemCode(error);
    });
    const trace = await readTraces([file.path], false);
    if (file.path !== path) {
      await writeTrace(trace, path);
      await rm(file.path);
    }
    const document = traceDocument(trace);
    terminal?.note('', ...describeDelays(document), `The trace is in ${path}`);
  }
}

/** Runs `work` with a recording, which ends with it. Without a path: without one. */
export async function recorded<Result>(
  path: string | undefined,
  terminal: Pick<Terminal, 'note'> | undefined,
  work: (file: TraceFile | undefined) => Promise<Result>,
): Promise<Result> {
  if (path === undefined) return work(undefined);
  const recording = await Recording.begin(path);
  let isDone = false;
  try {
    const result = await work(recording.file);
    isDone = true;
    return result;
  } finally {
    // A failed cast is reported as such, not by its trace.
    const ended = recording.end(terminal);
    if (isDone) await ended;
    else await ended.catch(() => {});
  }
}
