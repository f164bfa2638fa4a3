import { parseWholeNumber } from '@rdmc/common';
import { Command, InvalidArgumentError, Option } from 'commander';
import { blocksOf } from './blocks.js';
import { ProgressView } from './progress-view.js';
import { resnet152 } from './resnet152.js';
import { run } from './run.js';
import { type JoinReport, type Place, PROTOCOLS, type Protocol, SERVER } from './settings.js';
import { type IterationResult, median } from './summary.js';

const TENSORS = resnet152().length;

interface Flags {
  readonly protocol: Protocol | 'all';
  readonly workers: number;
  readonly iterations: number;
  readonly block: number;
  readonly slots: number;
  readonly tensors: number;
  readonly device: string;
  readonly transport: 'auto' | 'shm' | 'tcp';
  readonly json: boolean;
}

/** The command. `write` takes what goes to standard output. */
export function createProgram(write: (line: string) => void): Command {
  return new Command('rdmc-paramserver')
    .description(
      'Synchronises the parameters of ResNet-152: workers send gradients to a server, which sums and broadcasts them. ' +
        'Server and workers are processes of this machine; every sum is checked bit for bit.',
    )
    .addOption(
      new Option('-p, --protocol <name>', 'HiPower in push or pull mode, or confirmation per work request')
        .choices([...PROTOCOLS, 'all'])
        .default('push'),
    )
    .option('-w, --workers <n>', 'worker processes', wholeNumber(1, 64), 2)
    .option('-i, --iterations <n>', 'iterations; the first one is a warm-up', wholeNumber(1, 10_000), 4)
    .option('--block <bytes>', 'largest message, a multiple of 8', wholeNumber(8, 1 << 26), 65_536)
    .option('--slots <n>', 'outstanding messages per connection', wholeNumber(1, 8192), 128)
    .option(
      '--tensors <n>',
      'only the first tensors of the network, for slow machines',
      wholeNumber(1, TENSORS),
      TENSORS,
    )
    .option('--device <name>', 'RDMA device, as for openDevice', 'auto')
    .addOption(
      new Option('--transport <name>', 'of the soft device').choices(['auto', 'shm', 'tcp']).default('auto'),
    )
    .option('--json', 'one JSON document per protocol instead of text', false)
    .exitOverride()
    .action((flags: Flags) => runAll(flags, write));
}

async function runAll(flags: Flags, write: (line: string) => void): Promise<void> {
  const { workers, iterations, slots, tensors: count } = flags;
  const blockBytes = flags.block - (flags.block % 8);
  const device: Place['device'] = {
    device: flags.device,
    ...(flags.transport !== 'auto' && { transport: flags.transport }),
  };
  const tensors = resnet152().slice(0, count);
  const values = tensors.reduce((sum, { length }) => sum + length, 0);
  const blocks = blocksOf(tensors, blockBytes).length;
  if (!flags.json) {
    write(
      `ResNet-152: ${tensors.length} of ${TENSORS} tensors, ${values} values, ${((values * 4) / 1e6).toFixed(2)} MB;`,
    );
    write(`${blocks} blocks of at most ${blockBytes} bytes; ${workers} workers, ${slots} slots a connection`);
  }
  for (const protocol of flags.protocol === 'all' ? PROTOCOLS : [flags.protocol]) {
    const view = new ProgressView(workers, flags.json ? () => {} : write);
    const settings = { protocol, workers, iterations, blockBytes, slots, tensors: count };
    let results: IterationResult[];
    let devices: readonly JoinReport[] = [];
    try {
      results = await run(settings, device, {
        progress: (id, done, all) => view.progress(id, done, all),
        joined: (reports) => {
          devices = reports;
          view.line(devicesOf(reports));
        },
        iteration: (result) => view.line(`${protocol}, iteration ${result.iteration}: ${describe(result)}`),
      });
    } finally {
      view.stop();
    }
    const measured = results.length > 1 ? results.slice(1) : results;
    if (flags.json) write(JSON.stringify({ settings, device, devices, blocks, iterations: results }));
    else for (const line of summaryLines(protocol, measured)) write(line);
  }
}

/** One line if all processes use the same device for the same reason. */
function devicesOf(reports: readonly JoinReport[]): string {
  const names = new Map<string, string[]>();
  for (const [id, { device, reason }] of reports.entries()) {
    const line = `device ${device}: ${reason}`;
    const who = id === SERVER ? 'server' : `worker ${id}`;
    names.set(line, [...(names.get(line) ?? []), who]);
  }
  return [...names].map(([line, who]) => (names.size === 1 ? line : `${who.join(', ')}: ${line}`)).join('\n');
}

function describe(result: IterationResult): string {
  return `${result.completionMs.toFixed(0)} ms, ${Math.round(result.messagesPerSecond)} messages/s, sums correct`;
}

function summaryLines(protocol: Protocol, results: readonly IterationResult[]): string[] {
  const ms = (pick: (result: IterationResult) => number): string => `${median(results, pick).toFixed(0)} ms`;
  const share = (pick: (result: IterationResult) => number): string => median(results, pick).toFixed(4);
  return [
    '',
    `${protocol}: medians of ${results.length} iterations`,
    `  flow completion time        ${ms((r) => r.completionMs)}`,
    `  messages per second         ${median(results, (r) => r.messagesPerSecond).toFixed(0)}`,
    `  CPU time, server            ${ms((r) => r.serverCpuMs)}`,
    `  CPU time, all workers       ${ms((r) => r.workersCpuMs)}`,
    `  CPU time, device threads    ${ms((r) => r.nicCpuMs)}`,
    `  bitmap READs per message    ${share((r) => r.readsPerMessage)}`,
    `  looks at bitmaps            ${share((r) => r.looksPerMessage)} per message, ${share((r) => r.fruitlessShare)} of them fruitless`,
    '',
  ];
}

function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = parseWholeNumber(text, least, most);
    if (value !== undefined) return value;
    throw new InvalidArgumentError(`needs a whole number from ${least} to ${most}`);
  };
}
