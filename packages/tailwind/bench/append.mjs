// One-sided appends against the RPC scheme, side by side: `node bench/append.mjs [--seconds 3] [--replicas 3]`.
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

async function main() {
  const { values } = parseArgs({
    options: { seconds: { type: 'string', default: '3' }, replicas: { type: 'string', default: '3' } },
  });
  const [seconds, replicas] = [Number(values.seconds), Number(values.replicas)];
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
  console.log(`${replicas} backups, ${seconds} s each; latencies in µs; CPU of all backups in µs per append`);
  let logId = 0n;
  for (const depth of [1, 16, 64]) {
    for (const mode of ['rpc', 'one-sided']) {
      logId += 1n;
      const options = { segmentBytes: 8 * MIB, replicas, mode };
      const log = await Log.create({ mesh, plane, authority, logId, incarnation: 1, ...options });
      await measure(log, depth, 0.3);
      const before = await cpuSeconds(children);
      const { rate, p50, p99 } = await measure(log, depth, seconds);
      const cpu = ((await cpuSeconds(children)) - before) * 1e6;
      console.log(
        `${String(depth).padStart(3)} under way  ${mode.padEnd(9)}  ${rate.toFixed(0).padStart(7)}/s` +
          `  p50 ${p50.toFixed(0).padStart(6)}  p99 ${p99.toFixed(0).padStart(6)}` +
          `  backups' CPU ${(cpu / (rate * seconds)).toFixed(2)}`,
      );
      for (const segmentId of log.segmentIds) {
        for (const member of log.backups) {
          const request = { op: 'free', logId: String(logId), segmentId: String(segmentId) };
          await mesh.request(member, 'tailwind.backup', request);
        }
      }
      await log.close();
    }
  }
  for (const child of children) child.disconnect();
  await plane.close();
  await mesh.close();
  rmSync(root, { recursive: true });
}

if (process.env.BENCH_BACKUP) await backupProcess(JSON.parse(process.env.BENCH_BACKUP));
else await main();
