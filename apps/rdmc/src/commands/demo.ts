import { resolve } from 'node:path';
import type { Command } from 'commander';
import * as z from 'zod';
import type { DemoOptions } from '../demo/options.js';
import { usageError } from '../errors.js';
import { ExitCode } from '../exit-codes.js';
import { interruptible } from '../interrupt.js';
import type { Session } from '../session.js';
import {
  algorithm,
  blockSize,
  device,
  linkRate,
  parseOptions,
  size,
  transport,
  wholeNumber,
} from '../values.js';
import { addHelpNotes } from './help.js';

const schema = z.strictObject({
  members: wholeNumber(2, 64),
  size: size(1, 2 ** 40).optional(),
  file: z.string().min(1).optional(),
  algorithm: z.union([z.literal('all'), algorithm], {
    error: () => 'expected all, sequential, chain, binomial-tree or binomial-pipeline',
  }),
  blockSize,
  device,
  transport,
  linkRate: linkRate.optional(),
  keep: z.boolean().default(false),
  trace: z.string().min(1).optional(),
  json: z.boolean().default(false),
});

function optionsOf(raw: unknown): DemoOptions {
  const options = parseOptions(schema, raw);
  if (options.algorithm === 'hybrid') {
    throw usageError(
      '--algorithm: hybrid needs racks, and the demonstration runs on one machine',
      'draw its schedule with: rdmc schedule -a hybrid -n 8 --racks 0,0,0,0,1,1,1,1',
    );
  }
  const { size, linkRate, file, trace } = options;
  return { ...options, size, linkRate, trace, file: file === undefined ? undefined : resolve(file) };
}

export function defineDemoCommand(command: Command, session: Session): void {
  command
    .option('-m, --members <count>', 'processes, the root included', '8')
    .option('-f, --file <path>', 'the file to send (default: the node binary)')
    .option(
      '-s, --size <size>',
      "bytes to send: the file's content, truncated or repeated; 32 MiB without --file",
    )
    .option('-a, --algorithm <name>', 'all, or one algorithm', 'all')
    .option('--block-size <size>', 'bytes per block, or auto', 'auto')
    .option('--device <name>', 'auto, soft, ibverbs (any RDMA device) or a name such as mlx5_0', 'auto')
    .option('--transport <name>', 'tcp (what auto means here), or shm: shared memory', 'auto')
    .option('--link-rate <rate>', "each direction of each member's link, or none (default: 400Mbit/s)")
    .option('--keep', 'keep the received files')
    .option('--trace <file>', 'write what every member did: .html, .json for Perfetto, else for rdmc trace')
    .option('--json', 'JSON lines: one event each')
    .action(async (raw: unknown) => {
      const options = optionsOf(raw);
      const { runDemo } = await import('../demo/run.js');
      await interruptible((signal) => runDemo(options, session.terminal, signal));
    });
  addHelpNotes(command, {
    about: [
      'The root (this process) reads the file into RDMA memory and sends it to a group. Each receiver is a',
      'separate process: it receives the file into RDMA memory and writes it to a temporary folder, and the',
      'SHA-256 of every file is compared with that of the sender. Then each algorithm sends the same message.',
      'Each member has a link of its own, as a machine in a network has: the soft device limits its TCP',
      'connections together to one rate. The table compares each time with that of one copy to one receiver.',
      'Everything is removed at the end, also after Ctrl-C or when a process dies.',
    ],
    examples: [
      ['rdmc demo', '32 MiB of the node binary to seven processes'],
      ['rdmc demo --members 4 --size 256MiB', 'another size'],
      ['rdmc demo --file model.bin --keep', 'another file; keep the received files'],
      ['rdmc demo --link-rate 1Gbit/s', 'faster links'],
      ['rdmc demo --trace demo.html', 'a timeline of every member, for a browser'],
      ['rdmc demo --transport shm', 'over shared memory, without links'],
      ['rdmc demo --json | jq -c \'select(.event == "measured")\'', 'for programs'],
    ],
    exitCodes: [
      ExitCode.VERIFICATION_FAILED,
      ExitCode.MEMBER_LOST,
      ExitCode.NO_SPACE,
      ExitCode.HANGUP,
      ExitCode.TERMINATED,
    ],
  });
}
