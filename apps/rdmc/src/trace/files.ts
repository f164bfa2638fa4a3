import { readFile, writeFile } from 'node:fs/promises';
import { alignTraces, decodeTrace, type Trace } from '@rdmc/dataplane/trace';
import { CliError, codeOf, fileError, systemReason } from '../errors.js';
import { formatSeconds } from '../ui/units.js';
import { formatTrace } from './format.js';
import type { WholeTrace } from './whole-trace.js';

const CUT_ADVICE = 'with --partial the valid part is read: what happened later is missing';

/** @throws CliError ERR_RDMC_INVALID_TRACE, ERR_RDMC_TRACE_CUT, or the system's code */
async function readTrace(path: string, partial: boolean): Promise<Trace> {
  const bytes = await readFile(path).catch((cause: unknown) => {
    throw fileError(`cannot read the trace ${path}`, cause);
  });
  try {
    return decodeTrace(bytes, { partial, name: path });
  } catch (error) {
    const advice = codeOf(error) === 'ERR_RDMC_TRACE_CUT' ? { advice: CUT_ADVICE } : {};
    throw new CliError(codeOf(error)!, (error as Error).message, { cause: error, ...advice });
  }
}

/** Reads trace files, and puts them on the clock of the first one. */
export async function readTraces(paths: readonly string[], partial: boolean): Promise<WholeTrace> {
  const traces = await Promise.all(paths.map((path) => readTrace(path, partial)));
  const { events, alignments } = alignTraces(traces);
  const notes = alignments.flatMap(({ errorNs }, index) => noteOf(paths[index]!, errorNs));
  const cut = traces.flatMap(({ isCut }, index) => (isCut ? [`${paths[index]} was cut short`] : []));
  const dropped = traces.reduce((sum, trace) => sum + trace.dropped, 0);
  return { header: traces[0]!, events, dropped, notes: [...notes, ...cut] };
}

function noteOf(path: string, errorNs: number | null): string[] {
  if (errorNs === 0) return [];
  if (errorNs !== null)
    return [`${path}: its clock was compared; error at most ${formatSeconds(errorNs / 1e9)}`];
  return [`${path}: its members sent the others nothing; compared by the hosts' time of day, error unknown`];
}

/** @throws CliError ERR_RDMC_FILE, or the system's code */
export async function writeTrace(trace: WholeTrace, path: string): Promise<void> {
  try {
    await writeFile(path, formatTrace(trace, path));
  } catch (cause) {
    throw new CliError(codeOf(cause) ?? 'ERR_RDMC_FILE', `cannot write ${path}: ${systemReason(cause)}`, {
      cause,
    });
  }
}
