import type { Command } from 'commander';
import * as z from 'zod';
import type { Session } from '../session.js';
import { traceDocument } from '../trace/document.js';
import { readTraces, writeTrace } from '../trace/files.js';
import { describeDelays } from '../trace/report.js';
import { parseOptions } from '../values.js';
import { addHelpNotes } from './help.js';

const schema = z.strictObject({
  output: z.string().min(1).optional(),
  partial: z.boolean().default(false),
  json: z.boolean().default(false),
});

async function run(paths: readonly string[], raw: unknown, { terminal }: Session): Promise<void> {
  const { output, partial, json } = parseOptions(schema, raw);
  const trace = await readTraces(paths, partial);
  if (output !== undefined) await writeTrace(trace, output);
  const document = traceDocument(trace);
  if (json) return terminal.json(document);
  terminal.note(...trace.notes.map((note) => `note: ${note}`));
  terminal.out(...describeDelays(document));
}

function addReadOptions(command: Command): Command {
  return command
    .option('--partial', 'read the valid part of a trace that was cut short')
    .option('--json', 'one JSON document');
}

export function defineTraceCommand(command: Command, session: Session): void {
  addReadOptions(
    command
      .command('summary')
      .description('Print who waited for whom, from the traces of one or several hosts.')
      .argument('<file...>', 'traces of rdmc cast, receive, bench, demo or simulate'),
  ).action((paths: string[], raw: unknown) => run(paths, raw, session));
  addReadOptions(
    command
      .command('merge')
      .description('Write the traces of one or several hosts as one timeline.')
      .argument('<file...>', 'traces of rdmc cast, receive, bench, demo or simulate')
      .requiredOption('-o, --output <file>', '.html: a page; .json: for Perfetto; else a trace'),
  ).action((paths: string[], raw: unknown) => run(paths, raw, session));
  addHelpNotes(command, {
    about: [
      'Processes of one host share a clock. Clocks of different hosts are compared by the blocks and announcements',
      'that their members sent each other; the largest possible error is printed.',
      'A page (.html) needs no network. Perfetto (ui.perfetto.dev) and about:tracing read .json.',
    ],
    examples: [
      ['rdmc trace summary cast.trace', 'who delays whom'],
      ['rdmc trace merge sender.trace a.trace b.trace -o cast.html', 'a timeline of three hosts'],
      ['rdmc trace merge cast.trace -o cast.json', 'for Perfetto'],
    ],
  });
}
