import { type Command, Option } from 'commander';
import { fill, type LoadOptions, type LoadResult, load, tagOf } from '../bench/load.js';
import { WORKLOADS, Workload, type WorkloadName } from '../bench/workload.js';
import type { ConnectOptions } from '../client/connect.js';
import { withLocalCluster } from '../demo/processes.js';
import { type Endpoint, endpoints, wholeNumber } from '../values.js';
import { type ReplicationFlags, replicationArguments, replicationOptions } from './replication-options.js';
import type { Tell } from './tell.js';
import {
  type ClusterTlsFlags,
  clientTls,
  clusterTls,
  clusterTlsOptions,
  serverTlsArguments,
} from './tls-options.js';

interface BenchFlags extends ReplicationFlags, ClusterTlsFlags {
  readonly workload: WorkloadName;
  readonly connect?: Endpoint[];
  readonly servers: number;
  readonly records: number;
  readonly clients: number;
  readonly batch: number;
  readonly seconds: number;
  readonly wait: number;
  readonly forwarded?: boolean;
  readonly onePrimary?: boolean;
  readonly primaries?: number;
  readonly fill: boolean;
  readonly json?: boolean;
}

export function addBenchCommand(program: Command, tell: Tell): void {
  const command = program
    .command('bench')
    .description(
      "YCSB's workloads (Zipf 0.99, 30-byte keys, 100-byte values) on a cluster of this machine, or on any server",
    )
    .addOption(
      new Option('-w, --workload <name>', 'a: half reads; b: 95 % reads; c: reads')
        .choices(Object.keys(WORKLOADS))
        .default('a'),
    )
    .option(
      '--connect <list>',
      'host:port of servers that run already (of Redis too), instead of a new cluster',
      endpoints,
    )
    .option('-s, --servers <n>', 'server processes of the new cluster', wholeNumber(1, 32), 5)
    .option('--records <n>', 'records to load first', wholeNumber(1, 100_000_000), 100_000)
    .option('-c, --clients <n>', 'connections', wholeNumber(1, 10_000), 30)
    .option('-b, --batch <n>', 'operations that a client sends at once', wholeNumber(1, 10_000), 1)
    .option('-t, --seconds <n>', 'how long', wholeNumber(1, 86_400), 5)
    .option('--wait <n>', 'send WAIT for this number of replicas after each batch', wholeNumber(0, 16), 0)
    .option('--forwarded', 'send all commands to the first server, which forwards them')
    .option('--one-primary', 'use only keys of the first server, which then does not forward commands')
    .option(
      '--primaries <n>',
      'use only keys of the first servers, and send each command to the server of its key',
      wholeNumber(1, 32),
    )
    .option('--no-fill', 'do not load the records before the measurement')
    .option('--json', 'one JSON document instead of text');
  clusterTlsOptions(replicationOptions(command)).action((flags: BenchFlags) => bench(flags, tell));
}

async function bench(flags: BenchFlags, tell: Tell): Promise<void> {
  if (flags.connect) {
    const access = { password: process.env.RDMC_KV_PASSWORD, tls: clientTls(flags) };
    tellResult(flags, await measure(flags, flags.connect, access), tell);
    return;
  }
  const access = { password: undefined, tls: clusterTls(flags) };
  const serverArguments = [...replicationArguments(flags), ...serverTlsArguments(flags)];
  await withLocalCluster({ servers: flags.servers, serverArguments }, async ({ ports }) => {
    const all = ports.map((port) => ({ host: '127.0.0.1', port }));
    tellResult(flags, await measure(flags, all, access), tell);
  });
}

async function measure(
  flags: BenchFlags,
  all: readonly Endpoint[],
  access: ConnectOptions,
): Promise<LoadResult> {
  const primaries = all.slice(0, flags.onePrimary ? 1 : (flags.primaries ?? 0));
  const tags = await Promise.all(primaries.map((endpoint) => tagOf(endpoint, access)));
  const workload = new Workload(WORKLOADS[flags.workload], flags.records, tags.length > 0 ? tags : undefined);
  const { clients, batch, seconds, wait } = flags;
  const options: LoadOptions = {
    endpoints: all,
    clients,
    batch,
    seconds,
    wait,
    access,
    direct: all.length > 1 && !flags.forwarded && !flags.onePrimary,
  };
  if (flags.fill) await fill(workload, flags.records, options);
  return load(workload, options);
}

function tellResult(flags: BenchFlags, result: LoadResult, tell: Tell): void {
  const { workload, clients, batch } = flags;
  if (flags.json) tell(JSON.stringify({ workload, clients, batch, ...result }), result);
  else {
    tell(
      `workload ${workload}, ${clients} clients, batches of ${batch}: ${result.perSecond} operations/s, ` +
        `p50 ${result.p50} µs, p99 ${result.p99} µs per batch, ${result.errors} errors`,
      result,
    );
  }
}
