import type { LatencySample } from '../monitor/latency.js';
import type { Arguments } from '../resp/arguments.js';
import type { Command } from './command.js';
import type { CommandContext } from './command-context.js';
import { container } from './container.js';

const ADVICE: Readonly<Record<string, string>> = {
  command: 'SLOWLOG GET names the commands that take long.',
  'fast-command':
    'such commands take microseconds: the process was held up. Look for other processes on its processors.',
  append:
    'a backup, or the network to it, is slow. Compare the servers: rdmc_kv_replication_lag_seconds of each.',
  'expire-cycle': 'many keys expire at the same time. Spread their times.',
};

function latest(x: CommandContext): void {
  const events = x.node.monitor.latency.events();
  x.writer.array(events.length);
  for (const { event, latest: last, longest } of events) {
    x.writer.array(4);
    x.writer.bulk(event);
    x.writer.integer(last.at);
    x.writer.integer(last.ms);
    x.writer.integer(longest);
  }
}

function history(x: CommandContext, args: Arguments): void {
  const samples = x.node.monitor.latency.history(args.string(2));
  x.writer.array(samples.length);
  for (const { at, ms } of samples) {
    x.writer.array(2);
    x.writer.integer(at);
    x.writer.integer(ms);
  }
}

function reset(x: CommandContext, args: Arguments): void {
  const events: string[] = [];
  for (let i = 2; i < args.count; i += 1) events.push(args.string(i));
  x.writer.integer(x.node.monitor.latency.reset(events));
}

function doctor(x: CommandContext): void {
  const { latency } = x.node.monitor;
  if (!latency.isOn) {
    x.writer.bulk(
      'Latency is not monitored. Start the server with --latency-monitor-threshold <milliseconds>.\n',
    );
    return;
  }
  const lines = latency
    .events()
    .map(({ event, longest }) => reportOf(event, latency.history(event), longest));
  const none = `No event took ${latency.thresholdMs} ms or longer.`;
  x.writer.bulk(`${lines.length === 0 ? none : lines.join('\n')}\n`);
}

function reportOf(event: string, samples: readonly LatencySample[], longest: number): string {
  const mean = Math.round(samples.reduce((sum, { ms }) => sum + ms, 0) / samples.length);
  return `${event}: ${samples.length} spikes, mean ${mean} ms, longest ${longest} ms; ${ADVICE[event]}`;
}

const ANY = Number.POSITIVE_INFINITY;

export const latencyCommand: Command = container('latency', 'admin noscript', {
  LATEST: {
    least: 2,
    most: 2,
    run: latest,
    help: ['LATEST', 'Return the latest and the longest sample of each event'],
  },
  HISTORY: { least: 3, most: 3, run: history, help: ['HISTORY <event>', 'Return the samples of an event'] },
  RESET: {
    least: 2,
    most: ANY,
    run: reset,
    help: ['RESET [<event> ...]', 'Forget the samples of these events, or of all'],
  },
  DOCTOR: { least: 2, most: 2, run: doctor, help: ['DOCTOR', 'Return a report for people'] },
});
