import type { Command } from 'commander';
import * as z from 'zod';
import type { LatencyDocument } from '../bench/documents.js';
import { MAX_LATENCY_BYTES } from '../bench/limits.js';
import { describeLatency } from '../bench/report.js';
import { usageError } from '../errors.js';
import { ExitCode } from '../exit-codes.js';
import type { Session } from '../session.js';
import { device, list, parseOptions, size, transport, wholeNumber } from '../values.js';
import { DEVICE_HELP, operation, TRANSPORT_HELP, title, withPair } from './bench-pair.js';
import { addHelpNotes } from './help.js';

const schema = z.strictObject({
  operation,
  sizes: list(size(4, MAX_LATENCY_BYTES)),
  device,
  transport,
  rounds: wholeNumber(10, 10_000_000),
  json: z.boolean().default(false),
});
type Options = z.output<typeof schema>;

function checkSizes({ sizes }: Options): void {
  const odd = sizes.find((bytes) => bytes % 4 !== 0);
  if (odd !== undefined) throw usageError(`--sizes: found ${odd}; expected multiples of 4 bytes`);
}

async function runLatency(options: Options, session: Session): Promise<void> {
  checkSizes(options);
  const { terminal } = session;
  const { measureLatency } = await import('../bench/latency.js');
  const document = await withPair(options, async (pair, route): Promise<LatencyDocument> => {
    const results: LatencyDocument['results'] = [];
    for (const byteLength of options.sizes) {
      const measured = await measureLatency(pair, options.operation, byteLength, options.rounds);
      results.push({ byteLength, ...measured });
    }
    return { benchmark: 'latency', operation: options.operation, ...route, results };
  });
  if (options.json) return terminal.json(document);
  terminal.out(
    title('latency', document.operation, document),
    '',
    ...describeLatency(document, terminal.palette),
  );
}

export function addLatencyCommand(bench: Command, session: Session): void {
  const command = bench
    .command('latency')
    .description('Time of a request from one process to another.')
    .option('-o, --operation <name>', 'write, send or read', 'write')
    .option('-s, --sizes <list>', 'message sizes, multiples of 4 bytes', '4,64,1KiB,4KiB')
    .option('--device <name>', DEVICE_HELP, 'auto')
    .option('--transport <name>', TRANSPORT_HELP, 'auto')
    .option('-n, --rounds <count>', 'requests per size; the first tenth is warm-up', '10000')
    .option('--json', 'one JSON document')
    .action((raw: unknown) => runLatency(parseOptions(schema, raw), session));
  addHelpNotes(command, {
    about: [
      'write: half a round trip of WRITEs, each seen by polling memory. send: the same with SENDs, seen by',
      'polling the completion queue. read: from posting to completion. Both processes poll: with fewer than',
      'two free processors, the numbers measure the scheduler.',
    ],
    examples: [
      ['rdmc bench latency', 'WRITE'],
      ['rdmc bench latency -o read -s 64', 'READ of 64 bytes'],
    ],
    exitCodes: [ExitCode.MEMBER_LOST],
  });
}
