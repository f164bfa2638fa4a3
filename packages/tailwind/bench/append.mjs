// One-sided appends against the RPC scheme, side by side: `node bench/append.mjs [--seconds 2] [--rounds 3] [--replicas 3]
// [--window 4] [--depths 1,8,64] [--offered 20000,40000] [--modes rpc,one-sided,one-sided-here] [--window-ms 50]`.
// A depth is a number of outstanding appends; an offered load is in appends per second, the same for each scheme.
// 'one-sided' posts from the data plane's worker, like the messages; 'one-sided-here' from the thread that appends
// (`thread: 'application'`), like the key-value store. The schemes take turns within every round, in reverse order in
// every other round; every figure is the median of the rounds, with the minimum and the maximum.
// A primary and its backups, each its own process, over shared memory. Values of 100 bytes, keys of 30.
// For each scheme and load: appends per second, latency, and processor time of all backups together.
// Full segments are closed, zeroed and flushed meanwhile, in both schemes; the numbers include that.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { Node } from '@rdmc/node';
import { tailwind } from '@rdmc/tailwind';
import { Backup } from '@rdmc/tailwind/backup';
import { closedLoad, offeredLoad } from './append-load.mjs';

const CLUSTER = '00112233-4455-6677-8899-aabbccddeeff';
const MIB = 1024 * 1024;

function joinCluster(options) {
  return Node.join({ silenceTimeoutMs: 0, ...options, protocols: { logs: tailwind() } });
}

async function backupProcess({ id, members, directory, windowMs }) {
  const { logs, protectionDomain } = await joinCluster({ id, members, windowMs });
  const backup = await Backup.open({ protectionDomain, directory, clusterId: CLUSTER, buffers: 8 });
  logs.serve(backup);
  process.on('message', () => process.send({ cpu: process.cpuUsage() }));
  process.on('disconnect', () => process.exit());
  process.send({ ready: true });
}

async function cpuSeconds(children) {
  const usages = await Promise.all(
    children.map(async (child) => {
      child.send('cpu');
      const [{ cpu }] = await once(child, 'message');
      return (cpu.user + cpu.system) / 1e6;
    }),
  );
  return usages.reduce((sum, seconds) => sum + seconds, 0);
}

function middle(results, what) {
  const sorted = results.map((result) => result[what]).sort((a, b) => a - b);
  return sorted[sorted.length >> 1];
}

function line(load, mode, results) {
  const figure = (what, digits = 0) => {
    const all = results.map((result) => result[what]);
    const [least, most] = [Math.min(...all), Math.max(...all)].map((value) => value.toFixed(digits));
    return `${middle(results, what).toFixed(digits)} (${least} to ${most})`;
  };
  return (
    `${load}  ${mode.padEnd(14)}  ${figure('rate')}/s  p50 ${figure('p50')}  ` +
    `p99 ${figure('p99')}  CPU: backups ${figure('backups', 2)}, primary ${figure('primary', 2)}`
  );
}

function options() {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '2' },
      rounds: { type: 'string', default: '3' },
      replicas: { type: 'string', default: '3' },
      depths: { type: 'string', default: '1,8,64' },
      offered: { type: 'string', default: '' },
      window: { type: 'string', default: '4' },
      'window-ms': { type: 'string', default: '50' },
      modes: { type: 'string', default: 'rpc,one-sided,one-sided-here' },
    },
  });
  const numbers = (list) => list.split(',').filter(Boolean).map(Number);
  const loads = [
    ...numbers(values.depths).map((depth) => ({
      name: `${String(depth).padStart(6)} under way `,
      run: (log, seconds) => closedLoad(log, depth, seconds),
    })),
    ...numbers(values.offered).map((perSecond) => ({
      name: `${String(perSecond).padStart(6)} per second`,
      run: (log, seconds) => offeredLoad(log, perSecond, seconds),
    })),
  ];
  const [seconds, rounds, replicas, window, windowMs] = [
    'seconds',
    'rounds',
    'replicas',
    'window',
    'window-ms',
  ].map((name) => Number(values[name]));
  return { seconds, rounds, replicas, window, windowMs, loads, modes: values.modes.split(',') };
}

async function startCluster({ replicas, windowMs }) {
  const reserved = await reserveLoopbackPorts(replicas + 1);
  const members = reserved.map(({ host, port }, id) => ({ id, host, port }));
  const root = mkdtempSync(join(tmpdir(), 'tailwind-bench-'));
  const children = members.slice(1).map(({ id }) => {
    reserved[id].server.close();
    const setup = { id, members, directory: join(root, String(id)), windowMs };
    return fork(new URL(import.meta.url), [], {
      env: { ...process.env, BENCH_BACKUP: JSON.stringify(setup) },
    });
  });
  const ready = Promise.all(children.map((child) => once(child, 'message')));
  const node = await joinCluster({ id: 0, members, server: reserved[0].server, windowMs });
  await ready;
  const end = async () => {
    for (const child of children) child.disconnect();
    await node.close();
    rmSync(root, { recursive: true });
  };
  return { node, children, end };
}

let lastLogId = 0n;

/** Measures one scheme under one load, with its own log. */
async function measure({ node, children }, { seconds, replicas, window }, mode, load) {
  lastLogId += 1n;
  const scheme = mode === 'one-sided-here' ? { mode: 'one-sided', thread: 'application' } : { mode };
  const authority = { raiseMinimum: async () => {} };
  const shape = { segmentBytes: 8 * MIB, replicas, window };
  const log = await node.logs.create({
    authority,
    logId: lastLogId,
    incarnation: 1,
    ...shape,
    ...scheme,
  });
  await load.run(log, 0.5);
  const before = await cpuSeconds(children);
  const own = process.cpuUsage();
  const { rate, p50, p99 } = await load.run(log, seconds);
  const { user, system } = process.cpuUsage(own);
  const cpu = ((await cpuSeconds(children)) - before) * 1e6;
  const appends = rate * seconds;
  for (const segmentId of log.segmentIds) {
    for (const member of log.backups) {
      const request = { op: 'free', logId: String(lastLogId), segmentId: String(segmentId) };
      await node.mesh.request(member, 'tailwind.backup', request);
    }
  }
  await log.close();
  return { rate, p50, p99, backups: cpu / appends, primary: (user + system) / appends };
}

async function main() {
  const wanted = options();
  const { seconds, rounds, replicas, modes, loads } = wanted;
  const cluster = await startCluster(wanted);
  console.log(
    `${replicas} backups, ${seconds} s each, ${rounds} rounds; latencies in µs; CPU in µs per append, of all backups and ` +
      'of the primary',
  );
  for (const load of loads) {
    const found = new Map(modes.map((mode) => [mode, []]));
    for (let round = 0; round < rounds; round += 1) {
      for (const mode of round % 2 === 0 ? modes : [...modes].reverse())
        found.get(mode).push(await measure(cluster, wanted, mode, load));
    }
    for (const [mode, results] of found) console.log(line(load.name, mode, results));
    const baseline = found.get('rpc');
    for (const [mode, results] of found) {
      if (mode === 'rpc' || !baseline) continue;
      const ratio = (what) => (middle(results, what) / middle(baseline, what)).toFixed(2);
      console.log(`    ${mode} to rpc: appends ${ratio('rate')}, p50 ${ratio('p50')}, p99 ${ratio('p99')}`);
    }
  }
  await cluster.end();
}

if (process.env.BENCH_BACKUP) await backupProcess(JSON.parse(process.env.BENCH_BACKUP));
else await main();
