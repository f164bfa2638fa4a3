import type { Command } from 'commander';
import * as z from 'zod';
import type { StreamDocument } from '../bench/documents.js';
import { REGION_BYTES } from '../bench/limits.js';
import { describeStream } from '../bench/report.js';
import { ExitCode } from '../exit-codes.js';
import type { Session } from '../session.js';
import { device, list, parseOptions, seconds, size, transport } from '../values.js';
import { DEVICE_HELP, operation, TRANSPORT_HELP, title, withPair } from './bench-pair.js';
import { addHelpNotes } from './help.js';

const schema = z.strictObject({
  operation,
  sizes: list(size(1, REGION_BYTES)),
  device,
  transport,
  seconds: seconds(0.01, 60),
  json: z.boolean().default(false),
});
type Options = z.output<typeof schema>;
type Benchmark = StreamDocument['benchmark'];

const DEFAULT_SIZES: Readonly<Record<Benchmark, string>> = {
  bandwidth: '4KiB,64KiB,1MiB,4MiB',
  rate: '1,8,64,256',
};

async function measure(benchmark: Benchmark, options: Options): Promise<StreamDocument> {
  const { runStream } = await import('../bench/stream.js');
  return withPair(options, async (pair, route) => {
    const results: StreamDocument['results'] = [];
    for (const byteLength of options.sizes) {
      const { operation, seconds } = options;
      const measured = await runStream(pair, { operation, byteLength, seconds });
      results.push({
        byteLength,
        messages: measured.messages,
        peakBytesPerSecond: measured.peakMessagesPerSecond * byteLength,
        bytesPerSecond: measured.messagesPerSecond * byteLength,
        messagesPerSecond: measured.messagesPerSecond,
      });
    }
    return { benchmark, operation: options.operation, ...route, results };
  });
}

async function runBenchmark(benchmark: Benchmark, options: Options, session: Session): Promise<void> {
  const { terminal } = session;
  const document = await measure(benchmark, options);
  if (options.json) return terminal.json(document);
  const what = benchmark === 'rate' ? 'message rate' : 'bandwidth';
  terminal.out(title(what, document.operation, document), '', ...describeStream(document, terminal.palette));
}

/** `bandwidth` and `rate` measure the same with other default sizes. */
export function addBandwidthCommand(bench: Command, session: Session, benchmark: Benchmark): void {
  const command = bench
    .command(benchmark)
    .description(
      benchmark === 'rate'
        ? 'Small requests per second from one process to another.'
        : 'Bytes per second from one process to another.',
    )
    .option('-o, --operation <name>', 'write, send or read', 'write')
    .option('-s, --sizes <list>', 'message sizes', DEFAULT_SIZES[benchmark])
    .option('--device <name>', DEVICE_HELP, 'auto')
    .option('--transport <name>', TRANSPORT_HELP, 'auto')
    .option('--seconds <seconds>', 'time to measure each size, about', '0.5')
    .option('--json', 'one JSON document')
    .action((raw: unknown) => runBenchmark(benchmark, parseOptions(schema, raw), session));
  addHelpNotes(command, {
    about: [
      'peak is the fastest of five rounds, average is that of all. Requests are posted from TypeScript;',
      'of small requests, every sixteenth has a completion.',
    ],
    examples: [
      [`rdmc bench ${benchmark}`, 'WRITE'],
      [`rdmc bench ${benchmark} -o read -s 64,4KiB,1MiB`, 'READ, chosen sizes'],
      [`rdmc bench ${benchmark} --transport tcp --json`, 'over TCP, for programs'],
      [`rdmc bench ${benchmark} --device mlx5_0`, 'through an RDMA device'],
    ],
    exitCodes: [ExitCode.MEMBER_LOST],
  });
}
