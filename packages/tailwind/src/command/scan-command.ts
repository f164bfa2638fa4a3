import { messageOf, TailwindError } from '../errors.js';
import { scanSegment } from '../format/scan.js';
import { parseScanArguments, type ScanArguments, USAGE } from './arguments.js';
import { jsonReport, textReport } from './report.js';
import { readSegmentFile } from './segment-file.js';

export const ExitCode = { OK: 0, CORRUPT: 1, USAGE: 2, UNREADABLE: 3 } as const;

export interface Output {
  write(text: string): unknown;
}

/** Runs `tailwind-scan` and returns its exit code. Errors go to `errors` as one line that begins with their code. */
export async function scanCommand(argv: readonly string[], output: Output, errors: Output): Promise<number> {
  let options: ScanArguments;
  try {
    options = parseScanArguments(argv);
  } catch (error) {
    errors.write(`${describe(error)}\n\n${USAGE}`);
    return ExitCode.USAGE;
  }
  if (options.help) {
    output.write(USAGE);
    return ExitCode.OK;
  }
  try {
    const file = await readSegmentFile(options);
    const result = scanSegment(file.bytes, file.scan);
    output.write(options.json ? jsonReport(file, result) : textReport(file, result));
    return result.status === 'ok' ? ExitCode.OK : ExitCode.CORRUPT;
  } catch (error) {
    errors.write(`${describe(error)}\n`);
    const isUsage = error instanceof TailwindError && error.code === 'ERR_RDMC_INVALID_OPTION';
    return isUsage ? ExitCode.USAGE : ExitCode.UNREADABLE;
  }
}

function describe(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? `${code}: ${messageOf(error)}` : messageOf(error);
}
