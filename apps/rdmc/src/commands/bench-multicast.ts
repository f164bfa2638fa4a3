import { availableParallelism } from 'node:os';
import type { Algorithm } from '@rdmc/schedule';
import type { Command } from 'commander';
import * as z from 'zod';
import type { MulticastDocument } from '../bench/documents.js';
import { describeMulticast } from '../bench/report.js';
import { type BenchRoute, describeRoute } from '../bench/route.js';
import { usageError } from '../errors.js';
import { ExitCode } from '../exit-codes.js';
import { interruptible } from '../interrupt.js';
import type { Session } from '../session.js';
import { algorithm, blockSize, device, list, parseOptions, size, transport, wholeNumber } from '../values.js';
import { DEVICE_HELP, TRANSPORT_HELP } from './bench-pair.js';
import { addHelpNotes } from './help.js';

const ALL: readonly Algorithm[] = ['sequential', 'chain', 'binomial-tree', 'binomial-pipeline'];

const schema = z.strictObject({
  members: list(wholeNumber(2, 64)),
  sizes: list(size(0, 2 ** 40)),
  algorithms: z.union([z.literal('all').transform(() => [...ALL]), list(algorithm)], {
    error: () => `expected all, or a list of ${ALL.join(', ')}`,
  }),
  blockSize,
  device,
  transport,
  rounds: wholeNumber(1, 10_000),
  burst: wholeNumber(1, 100_000),
  trace: z.string().min(1).optional(),
  json: z.boolean().default(false),
});
type Options = z.output<typeof schema>;

async function runMulticast(options: Options, session: Session): Promise<void> {
  if (options.algorithms.includes('hybrid')) {
    throw usageError('--algorithms: hybrid needs racks, and the benchmark runs on one machine');
  }
  const { terminal } = session;
  const { members: counts, json, trace, ...plan } = options;
  if (trace !== undefined && counts.length > 1) {
    throw usageError('--trace: a trace has the members of one group', 'give one number, such as --members 8');
  }
  const results: MulticastDocument['results'] = [];
  let route: BenchRoute | undefined;
  const { measureMulticast } = await import('../bench/multicast.js');
  const traces = trace === undefined ? undefined : await import('../bench/traces.js');
  await interruptible(async (signal) => {
    const measure = async (folder?: string): Promise<readonly string[]> => {
      const files: string[] = [];
      for (const members of counts) {
        const cluster = { ...plan, members, traces: folder };
        const measured = await measureMulticast(cluster, signal, (result) => results.push(result));
        files.push(...measured.traces);
        route = measured.route;
      }
      return files;
    };
    if (traces) await traces.traced(trace!, terminal, measure);
    else await measure();
  });
  const document: MulticastDocument = {
    benchmark: 'multicast',
    ...route!,
    results,
  };
  if (json) return terminal.json(document);
  const burst = plan.burst > 1 ? `, ${plan.burst} messages queued at once` : '';
  terminal.out(
    `Multicast among processes, ${describeRoute(document)}, ${availableParallelism()} processors${burst}`,
    'Time until the slowest receiver has the last message, memory warm; members count the root',
    '',
    ...describeMulticast(document, terminal.palette),
  );
}

export function addMulticastCommand(bench: Command, session: Session): void {
  const command = bench
    .command('multicast')
    .description('One process sends to all others, with each algorithm.')
    .option('-m, --members <list>', 'numbers of processes, the root included', '2,4,8')
    .option('-s, --sizes <list>', 'message sizes', '64KiB,1MiB,64MiB')
    .option('-a, --algorithms <list>', 'all, or a list', 'all')
    .option('--block-size <size>', 'bytes per block, or auto', 'auto')
    .option('--device <name>', DEVICE_HELP, 'auto')
    .option('--transport <name>', TRANSPORT_HELP, 'auto')
    .option('-n, --rounds <count>', 'measured rounds; the median is shown', '5')
    .option('--burst <count>', 'messages queued at once in a round', '1')
    .option('--trace <file>', 'write what every member did: .html, .json for Perfetto, else for rdmc trace')
    .option('--json', 'one JSON document')
    .action((raw: unknown) => runMulticast(parseOptions(schema, raw), session));
  addHelpNotes(command, {
    about: [
      '“× one copy” is the time divided by the time of one copy of the message in one process: on one host a',
      'transfer is a copy, and n − 1 copies on c processors take at least (n − 1)/c times one copy.',
      '“skew” is the time from the first receiver that has the last message to the last one. --trace says who',
      'waited for whom, in all rounds, the first one for warm-up included.',
    ],
    examples: [
      ['rdmc bench multicast', 'all algorithms, three sizes, three group sizes'],
      ['rdmc bench multicast -m 8 -s 256MiB -a binomial-pipeline', 'one line'],
      ['rdmc bench multicast -m 8 -a chain --trace chain.html', 'a timeline of every member'],
      ['rdmc bench multicast -s 1 --burst 1000', 'one-byte messages per second'],
    ],
    exitCodes: [ExitCode.MEMBER_LOST, ExitCode.NO_SPACE],
  });
}
