// One-sided appends against the RPC scheme, side by side: `node bench/append.mjs [--seconds 2] [--rounds 3]
// [--replicas 3] [--window 4] [--depths 1,8,64] [--modes rpc,one-sided]`. The schemes take turns within every round, the first one
// being another in every other round; every figure is the median of the rounds, with the least and the most.
// A primary and its backups, each a process of its own, over shared memory. Values of 100 bytes, keys of 30.
// Per scheme and number of appends under way: appends per second, latency, and processor time of all backups together.
// Segments that are full are closed, zeroed and flushed meanwhile, in both schemes alike: that is in the numbers.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHistogram } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { Mesh, reserveLoopbackPorts } from '@rdmc/mesh';
import { Backup, BackupService, EntryType, encodeObject, Log, startPlane } from '@rdmc/tailwind';

const CLUSTER = '00112233-4455-6677-8899-aabbccddeeff';
const MIB = 1024 * 1024;

async function backupProcess({ id, members, directory }) {
  const mesh = await Mesh.join({ id, members, silenceTimeoutMs: 0 });
  const plane = await startPlane(mesh);
  const { protectionDomain } = plane;
  const backup = await Backup.open({ protectionDomain, directory, clusterId: CLUSTER, buffers: 8 });
  new BackupService(mesh, plane, backup);
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

/** Keeps `depth` appends under way for some seconds. */
async function measure(log, depth, seconds) {
  const key = new Uint8Array(30).fill(1);
  const value = new Uint8Array(100).fill(2);
  const histogram = createHistogram();
  const end = performance.now() + seconds * 1000;
  let appends = 0;
  const lane = async () => {
    while (performance.now() < end) {
      const started = process.hrtime.bigint();
      await log.append({ type: EntryType.OBJECT, parts: encodeObject(appends, key, value) }).acknowledged;
      histogram.record(process.hrtime.bigint() - started);
      appends += 1;
    }
  };
  await Promise.all(Array.from({ length: depth }, lane));
  return {
    rate: appends / seconds,
    p50: histogram.percentile(50) / 1000,
    p99: histogram.percentile(99) / 1000,
  };
}

function middle(results, what) {
  const sorted = results.map((result) => result[what]).sort((a, b) => a - b);
  return sorted[sorted.length >> 1];
}

function line(depth, mode, results) {
  const figure = (what, digits = 0) => {
    const all = results.map((result) => result[what]);
    const [least, most] = [Math.min(...all), Math.max(...all)].map((value) => value.toFixed(digits));
    return `${middle(results, what).toFixed(digits)} (${least} to ${most})`;
  };
  return (
    `${String(depth).padStart(3)} under way  ${mode.padEnd(9)}  ${figure('rate')}/s  p50 ${figure('p50')}  ` +
    `p99 ${figure('p99')}  CPU: backups ${figure('backups', 2)}, primary ${figure('primary', 2)}`
  );
}

async function main() {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '2' },
      rounds: { type: 'string', default: '3' },
      replicas: { type: 'string', default: '3' },
      depths: { type: 'string', default: '1,8,64' },
      window: { type: 'string', default: '4' },
      modes: { type: 'string', default: 'rpc,one-sided' },
    },
  });
  const [seconds, replicas, rounds] = [values.seconds, values.replicas, values.rounds].map(Number);
  const depths = values.depths.split(',').map(Number);
  const modes = values.modes.split(',');
  const reserved = await reserveLoopbackPorts(replicas + 1);
  const members = reserved.map(({ host, port }, id) => ({ id, host, port }));
  const root = mkdtempSync(join(tmpdir(), 'tailwind-bench-'));
  const children = [];
  for (const { id } of members.slice(1)) {
    reserved[id].server.close();
    const setup = { id, members, directory: join(root, String(id)) };
    children.push(
      fork(new URL(import.meta.url), [], { env: { ...process.env, BENCH_BACKUP: JSON.stringify(setup) } }),
    );
  }
  const ready = Promise.all(children.map((child) => once(child, 'message')));
  const mesh = await Mesh.join({ id: 0, members, server: reserved[0].server, silenceTimeoutMs: 0 });
  const plane = await startPlane(mesh);
  await ready;
  const authority = { raiseMinimum: async () => {} };
  console.log(
    `${replicas} backups, ${seconds} s each, ${rounds} rounds; latencies in µs; CPU in µs per append, of all backups and ` +
      'of the primary',
  );
  let logId = 0n;
  for (const depth of depths) {
    const found = new Map(modes.map((mode) => [mode, []]));
    for (let round = 0; round < rounds; round += 1) {
      for (const mode of round % 2 === 0 ? modes : [...modes].reverse()) {
        logId += 1n;
        const options = { segmentBytes: 8 * MIB, replicas, mode, window: Number(values.window) };
        const log = await Log.create({ mesh, plane, authority, logId, incarnation: 1, ...options });
        await measure(log, depth, 0.3);
        const before = await cpuSeconds(children);
        const own = process.cpuUsage();
        const { rate, p50, p99 } = await measure(log, depth, seconds);
        const { user, system } = process.cpuUsage(own);
        const cpu = ((await cpuSeconds(children)) - before) * 1e6;
        const appends = rate * seconds;
        found.get(mode).push({ rate, p50, p99, backups: cpu / appends, primary: (user + system) / appends });
        for (const segmentId of log.segmentIds) {
          for (const member of log.backups) {
            const request = { op: 'free', logId: String(logId), segmentId: String(segmentId) };
            await mesh.request(member, 'tailwind.backup', request);
          }
        }
        await log.close();
      }
    }
    for (const [mode, results] of found) console.log(line(depth, mode, results));
    if (found.has('rpc') && found.has('one-sided')) {
      const [before, now] = [found.get('rpc'), found.get('one-sided')];
      const ratio = (what) => (middle(now, what) / middle(before, what)).toFixed(2);
      console.log(`    one-sided to rpc: appends ${ratio('rate')}, p50 ${ratio('p50')}, p99 ${ratio('p99')}`);
    }
  }
  for (const child of children) child.disconnect();
  await plane.close();
  await mesh.close();
  rmSync(root, { recursive: true });
}

if (process.env.BENCH_BACKUP) await backupProcess(JSON.parse(process.env.BENCH_BACKUP));
else await main();
