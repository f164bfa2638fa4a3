import { MAX_BULK_BYTES, SLOTS } from '../limits.js';
import type { Arguments } from '../resp/arguments.js';
import { CommandError } from '../resp/command-error.js';
import { type Command, define } from './command.js';
import type { CommandContext } from './command-context.js';
import { globMatches } from './glob.js';
import { SERVER_VERSION } from './version.js';

function config(x: CommandContext, args: Arguments): void {
  if (args.word(1) !== 'GET' || args.count < 3)
    throw new CommandError(`ERR unknown subcommand '${args.string(1)}'. Only CONFIG GET exists.`);
  const settings: Record<string, string> = {
    save: '',
    appendonly: 'no',
    maxmemory: '0',
    'maxmemory-policy': 'noeviction',
    databases: '1',
    timeout: '0',
    port: String(x.node.port),
    'cluster-enabled': x.node.nodes().length > 1 ? 'yes' : 'no',
    'proto-max-bulk-len': String(MAX_BULK_BYTES),
    'min-replicas-to-write': String(x.store.replicas),
    'slowlog-log-slower-than': String(x.node.monitor.slowLog.thresholdUs),
    'slowlog-max-len': String(x.node.monitor.slowLog.mostCommands),
    'latency-monitor-threshold': String(x.node.monitor.latency.thresholdMs),
  };
  const patterns: string[] = [];
  for (let i = 2; i < args.count; i += 1) patterns.push(args.string(i).toLowerCase());
  const names = Object.keys(settings).filter((name) =>
    patterns.some((pattern) => globMatches(pattern, name)),
  );
  x.writer.map(names.length);
  for (const name of names) {
    x.writer.bulk(name);
    x.writer.bulk(settings[name]!);
  }
}

function info(x: CommandContext, args: Arguments): void {
  const wanted = args.count > 1 ? args.string(1).toLowerCase() : 'default';
  const sections = infoSections(x);
  const all = ['default', 'all', 'everything'].includes(wanted);
  const names = Object.keys(sections).filter((name) => all || name.toLowerCase() === wanted);
  const text = names.map((name) => {
    const lines = Object.entries(sections[name]!).map(([field, value]) => `${field}:${value}`);
    return [`# ${name}`, ...lines, ''].join('\r\n');
  });
  x.writer.bulk(text.join('\r\n'));
}

function infoSections({ store, node }: CommandContext): Record<string, Record<string, string | number>> {
  const { heapUsed, rss } = process.memoryUsage();
  const { bytes, liveBytes, segments } = store.usage;
  const { size, expiring, indexBytes } = store.keyspace;
  return {
    Server: {
      redis_version: SERVER_VERSION,
      redis_mode: node.nodes().length > 1 ? 'cluster' : 'standalone',
      process_id: process.pid,
      tcp_port: node.port,
      uptime_in_seconds: Math.floor((Date.now() - node.startedAt) / 1000),
    },
    Clients: { connected_clients: node.clients },
    Memory: { used_memory: heapUsed + indexBytes + bytes, used_memory_rss: rss },
    Stats: { total_commands_processed: node.commandsProcessed },
    Replication: { role: 'master', connected_slaves: store.replicas, log_acknowledged: store.acknowledged },
    Log: { log_segments: segments, log_bytes: bytes, log_live_bytes: liveBytes },
    Cluster: {
      cluster_enabled: node.nodes().length > 1 ? 1 : 0,
      cluster_epoch: node.epoch,
      cluster_slots: SLOTS,
    },
    Keyspace: size > 0 ? { db0: `keys=${size},expires=${expiring.size},avg_ttl=0` } : {},
  };
}

export const introspectionCommands: readonly Command[] = [
  // CONFIG SET is refused, and its arguments can be a password.
  define('config', -2, 'admin skip_slowlog', config),
  define('info', -1, '', info),
];
