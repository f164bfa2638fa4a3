// Recovery of a log that one-sided writes replicated, and of one that messages did: `node bench/recovery.mjs
// [--objects 1000000] [--backups 3] [--json]`. A primary, a coordinator that recovers and is a backup too, and the other
// backups, a process each; the primary is killed with -9. Values of 100 bytes, keys of 30. The time is from the request to an index of all objects.
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { decodeObject, EntryType, encodeObject } from '@rdmc/tailwind';
import { Coordinator, FileStore } from '@rdmc/tailwind/coordinator';
import { runMember, startMembers } from './members.mjs';

const PROGRAM = new URL(import.meta.url);
const BATCH = 1000;
const SEGMENT_BYTES = 8 * 1024 * 1024;
// An object's entry has 154 bytes.
const MOST_BYTES_PER_OBJECT = 200;

async function load({ logs }, { mode, objects }) {
  const authority = logs.coordinator(1);
  const { logId, incarnation } = await authority.createLog();
  const maxSegments = Math.max(128, Math.ceil((objects * MOST_BYTES_PER_OBJECT) / SEGMENT_BYTES));
  const log = await logs.create({
    authority,
    logId,
    incarnation,
    mode,
    segmentBytes: SEGMENT_BYTES,
    maxSegments,
  });
  const value = new Uint8Array(100).fill(2);
  for (let number = 0; number < objects; number += BATCH) {
    const appends = [];
    for (let k = number; k < Math.min(objects, number + BATCH); k += 1) {
      const key = Buffer.from(String(k).padStart(30, 'k'));
      appends.push(
        log.append({ type: EntryType.OBJECT, parts: encodeObject(k + 1, key, value) }).acknowledged,
      );
    }
    await Promise.all(appends);
  }
  process.send({ logId: String(logId), bytes: log.stats().appendedBytes });
}

async function measure(mode, objects, backups) {
  const { mesh, logs, children, end } = await startMembers(PROGRAM, backups + 1, 1, 32);
  const store = await FileStore.open(join(tmpdir(), `tailwind-bench-${process.pid}-${mode}`));
  const coordinator = await Coordinator.open({ mesh, store, leaseMs: 50, leaseMarginMs: 10 });
  const primary = children.get(0);
  primary.send({ mode, objects });
  const [{ logId, bytes }] = await once(primary, 'message');
  const exited = once(primary, 'exit');
  primary.kill('SIGKILL');
  await exited;
  while (mesh.peers.get(0).state === 'connected') await new Promise((resolve) => setImmediate(resolve));
  const started = performance.now();
  const recovery = await logs.recover({ coordinator: logs.coordinator(1), logId: BigInt(logId) });
  const begun = performance.now();
  const index = new Map();
  let read = 0;
  for await (const segment of recovery.segments()) {
    read += segment.bytes.length;
    for (const { type, payload } of segment.entries()) {
      if (type !== EntryType.OBJECT) continue;
      const { version, key } = decodeObject(payload);
      const text = Buffer.from(key.buffer, key.byteOffset, key.length).toString('latin1');
      if (version > (index.get(text) ?? 0)) index.set(text, version);
    }
  }
  const done = performance.now();
  if (index.size !== objects) throw new Error(`${index.size} objects instead of ${objects}`);
  await recovery.close();
  await coordinator.close();
  await end();
  const seconds = (done - started) / 1000;
  process.stderr.write(
    `${mode.padEnd(9)}  ${objects} objects in ${seconds.toFixed(2)} s: fenced and planned ${((begun - started) / 1000).toFixed(2)} s, ` +
      `scanned, read and indexed ${((done - begun) / 1000).toFixed(2)} s; ${(read / seconds / 1e9).toFixed(3)} GB/s; ` +
      `${(read / objects).toFixed(1)} bytes per object of 130, ${(bytes / objects).toFixed(1)} of them its entry\n`,
  );
  return { mode, objects, backups, seconds };
}

if (process.env.BENCH_MEMBER) {
  const member = await runMember();
  process.on('message', (order) => load(member, order));
} else {
  const { values } = parseArgs({
    options: {
      objects: { type: 'string', default: '1000000' },
      backups: { type: 'string', default: '3' },
      json: { type: 'boolean', default: false },
    },
  });
  const rows = [];
  for (const mode of ['rpc', 'one-sided']) {
    rows.push(await measure(mode, Number(values.objects), Number(values.backups)));
  }
  if (values.json) console.log(JSON.stringify({ rows }));
}
