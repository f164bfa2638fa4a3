import { presets, type SimulationReport, simulate, validate } from '@rdmc/simulator';
import type { Command } from 'commander';
import * as z from 'zod';
import { advised } from '../advice.js';
import type { Session } from '../session.js';
import { type SimulationHead, toSimulationDocument } from '../simulate/document.js';
import { summariseSimulation } from '../simulate/summary.js';
import { openTrace, writeLive, writeTrace } from '../simulate/trace-file.js';
import { POLLING, preemptionRate, slowLink, windows } from '../simulate/values.js';
import { checkOutput } from '../trace/output.js';
import type { Terminal } from '../ui/terminal.js';
import { algorithm, list, parseOptions, size, wholeNumber } from '../values.js';
import { addHelpNotes } from './help.js';

const MOST_MEMBERS = 65_536;

const schema = z.strictObject({
  preset: z.string(),
  algorithm,
  nodes: wholeNumber(2, MOST_MEMBERS),
  size: size(0, 2 ** 50),
  blockSize: size(1, 2 ** 30),
  blocks: wholeNumber(1, 2 ** 32).optional(),
  messages: wholeNumber(1, 1_000_000),
  senders: wholeNumber(1, MOST_MEMBERS),
  racks: list(wholeNumber(0, MOST_MEMBERS)).optional(),
  slowLink: list(slowLink).optional(),
  windows,
  polling: z.enum(['hybrid', 'interrupts', 'polling'], {
    error: () => 'expected hybrid, interrupts or polling',
  }),
  preempt: preemptionRate.optional(),
  offload: z.boolean().default(false),
  seed: wholeNumber(0, 2 ** 32 - 1),
  trace: z.string().min(1).optional(),
  json: z.boolean().default(false),
});
type Options = z.output<typeof schema>;

function headOf(options: Options): SimulationHead {
  const { preset, algorithm, nodes, blockSize, blocks, offload, seed } = options;
  const { receive, send, ready } = options.windows;
  return {
    preset,
    algorithm,
    nodes,
    bytes: blocks === undefined ? options.size : blocks * blockSize,
    blockBytes: blockSize,
    windows: { receive, send, ready: ready ?? null },
    offload,
    seed,
  };
}

function simulateWith(options: Options, head: SimulationHead): SimulationReport {
  return simulate({
    cluster: options.preset,
    nodes: options.nodes,
    algorithm: options.algorithm,
    byteLength: head.bytes,
    blockBytes: options.blockSize,
    messages: options.messages,
    senders: options.senders,
    racks: options.racks,
    slowLinks: options.slowLink,
    windows: options.windows,
    windowMs: POLLING[options.polling],
    preemptionRate: options.preempt,
    offload: options.offload,
    seed: options.seed,
    trace: options.trace !== undefined && !isLive(options.trace),
    records: options.trace !== undefined && isLive(options.trace),
  });
}

/** Whether the trace is one of the forms of live traces, and not lines of JSON. */
function isLive(path: string): boolean {
  return /\.(html|json|trace)$/.test(path);
}

async function runSimulate(options: Options, terminal: Terminal): Promise<void> {
  const validated = validate();
  const { trace } = options;
  if (trace !== undefined && isLive(trace)) checkOutput(trace);
  const file = trace === undefined || isLive(trace) ? undefined : openTrace(trace);
  const head = headOf(options);
  const report = advised('schedule', () => simulateWith(options, head));
  if (file !== undefined) writeTrace(file, trace!, report.trace!);
  if (report.records) await writeLive(report.records, trace!, terminal);
  const document = toSimulationDocument(head, validated, report);
  if (options.json) terminal.json(document);
  else terminal.out(...summariseSimulation(document, presets.get(options.preset)!.description));
}

function addMessageOptions(command: Command): Command {
  return command
    .option('-n, --nodes <count>', 'members, the root included', '16')
    .option('-s, --size <bytes>', 'size of a message', '256MiB')
    .option('-b, --block-size <bytes>', 'size of a block', '1MiB')
    .option('-k, --blocks <count>', 'blocks of a message, instead of its size')
    .option('--messages <count>', 'messages, each after the one before is complete', '1')
    .option('--senders <count>', 'groups of the same members, each with another root', '1')
    .option('--racks <list>', 'the rack of each member, root first: 0,0,1,1')
    .option('--slow-link <list>', 'slow links: ranks and share of the bandwidth, 5-7:0.5')
    .option('-w, --windows <windows>', 'shipped, ahead, paper, single, or receives/sends', 'shipped');
}

export function defineSimulateCommand(command: Command, session: Session): void {
  const names = [...presets.keys()].join(', ');
  command
    .option('-p, --preset <name>', `cluster: ${names}`, 'fractus')
    .option(
      '-a, --algorithm <name>',
      'sequential, chain, binomial-tree, binomial-pipeline or hybrid',
      'binomial-pipeline',
    );
  addMessageOptions(command)
    .option('--polling <how>', 'threads: hybrid, interrupts or polling', 'hybrid')
    .option('--preempt <rate>', 'preemptions per second of each host, and their microseconds: 10:100')
    .option('--offload', 'the NICs run the protocol, not the threads')
    .option('--seed <number>', 'of the random numbers; the same seed gives the same trace', '1')
    .option(
      '--trace <file>',
      '.html, .json for Perfetto, .trace for rdmc trace; else a line of JSON per member and step',
    )
    .option('--json', 'one JSON document')
    .action((raw: unknown) => runSimulate(parseOptions(schema, raw), session.terminal));
  addHelpNotes(command, {
    about: [
      'Runs the state machines that real groups run. Links, NICs and threads are simulated: links are',
      'shared max-min fairly, and each completion and each request takes time of the member’s thread.',
      'No memory is allocated for messages, and no network is used. Before it prints anything, the',
      'command compares the simulator with known results: step counts, shares, slack.',
      'Presets are the clusters of the papers; stampede is fitted to Table 1 of RDMC.',
    ],
    examples: [
      ['rdmc simulate', '256 MiB to 15 receivers on Fractus'],
      ['rdmc simulate -a sequential', 'the same, one receiver after the other'],
      ['rdmc simulate -p sierra -n 512', '511 receivers on Sierra'],
      ['rdmc simulate -p apt -n 16 --senders 16', '16 groups behind an oversubscribed switch'],
      ['rdmc simulate -n 4 -w paper --preempt 10:100', 'with the windows of the paper, and preemption'],
      ['rdmc simulate -n 8 -k 16 --trace predicted.html', 'a timeline, as of rdmc cast --trace'],
      ['rdmc simulate -n 8 -k 16 --trace trace.jsonl', 'what each member did in each step'],
    ],
  });
}
