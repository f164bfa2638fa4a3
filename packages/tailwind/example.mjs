// Four members in one process: member 0 writes a log with three backups and leaves, then member 1 recovers the log.
// On four machines the same code runs in four processes, each with its own id.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { Node } from '@rdmc/node';
import { decodeObject, EntryType, encodeObject, tailwind } from '@rdmc/tailwind';
import { Backup } from '@rdmc/tailwind/backup';
import { Coordinator, FileStore } from '@rdmc/tailwind/coordinator';

const directory = mkdtempSync(join(tmpdir(), 'tailwind-example-'));
const reserved = await reserveLoopbackPorts(4);
const members = reserved.map(({ host, port }, id) => ({ id, host, port }));
const nodes = await Promise.all(
  reserved.map(({ server }, id) => Node.join({ id, members, server, protocols: { logs: tailwind() } })),
);

// Member 1 is also the coordinator.
const store = await FileStore.open(join(directory, 'coordinator'));
const coordinator = await Coordinator.open({ mesh: nodes[1].mesh, store });

for (const { id, logs, protectionDomain } of nodes.slice(1)) {
  const place = { directory: join(directory, `backup-${id}`), clusterId: coordinator.clusterId, buffers: 4 };
  logs.serve(await Backup.open({ protectionDomain, ...place }));
}

const authority = nodes[0].logs.coordinator(1);
const { logId, incarnation } = await authority.createLog();
const log = await nodes[0].logs.create({ authority, logId, incarnation });
const append = (version, key, value) =>
  log.append({ type: EntryType.OBJECT, parts: encodeObject(version, Buffer.from(key), Buffer.from(value)) });
append(1, 'colour', 'red');
append(2, 'shape', 'round');
const { segmentId } = await append(3, 'colour', 'blue').acknowledged;
console.log(`acknowledged in segment ${segmentId}, at backups ${log.backups.sort()}`);
await log.close();
await nodes[0].close();

const { logs } = nodes[1];
const recovery = await logs.recover({ coordinator: logs.coordinator(1), logId, backups: [1, 2, 3] });
const found = new Map();
for await (const segment of recovery.segments()) {
  for (const { type, payload } of segment.entries()) {
    if (type !== EntryType.OBJECT) continue;
    const { version, key, value } = decodeObject(payload);
    const text = Buffer.from(key).toString();
    if (version > (found.get(text)?.version ?? 0))
      found.set(text, { version, value: Buffer.from(value).toString() });
  }
}
console.log('recovered:', Object.fromEntries(found));
await recovery.close();

await coordinator.close();
await Promise.all(nodes.slice(1).map((node) => node.close()));
rmSync(directory, { recursive: true });
