// Four members in one process: member 0 has a log that three others back up; then it is gone, and member 1 recovers it.
// On four machines the same code runs in four processes, each with its own id.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Mesh, reserveLoopbackPorts } from '@rdmc/mesh';
import {
  Backup,
  BackupService,
  Coordinator,
  CoordinatorClient,
  decodeObject,
  EntryType,
  encodeObject,
  FileStore,
  Log,
  Recovery,
  startPlane,
} from '@rdmc/tailwind';

const directory = mkdtempSync(join(tmpdir(), 'tailwind-example-'));
const reserved = await reserveLoopbackPorts(4);
const members = reserved.map(({ host, port }, id) => ({ id, host, port }));
const meshes = await Promise.all(reserved.map(({ server }, id) => Mesh.join({ id, members, server })));

// Member 1 is the coordinator as well.
const store = await FileStore.open(join(directory, 'coordinator'));
const coordinator = await Coordinator.start({ mesh: meshes[1], store });

const planes = await Promise.all(meshes.map((mesh) => startPlane(mesh, { windowMs: 0 })));
for (const id of [1, 2, 3]) {
  const { protectionDomain } = planes[id];
  const place = { directory: join(directory, `backup-${id}`), clusterId: coordinator.clusterId, buffers: 4 };
  new BackupService(meshes[id], planes[id], await Backup.open({ protectionDomain, ...place }));
}

const authority = new CoordinatorClient(meshes[0], 1);
const { logId, incarnation } = await authority.createLog();
const log = await Log.create({ mesh: meshes[0], plane: planes[0], authority, logId, incarnation });
const append = (version, key, value) =>
  log.append({ type: EntryType.OBJECT, parts: encodeObject(version, Buffer.from(key), Buffer.from(value)) });
append(1, 'colour', 'red');
append(2, 'shape', 'round');
const { segmentId } = await append(3, 'colour', 'blue').acknowledged;
console.log(`acknowledged in segment ${segmentId}, at backups ${log.backups.sort()}`);
await log.close();
await planes[0].close();
await meshes[0].close();

const recovery = await Recovery.begin({
  mesh: meshes[1],
  plane: planes[1],
  coordinator: new CoordinatorClient(meshes[1], 1),
  logId,
  backups: [1, 2, 3],
});
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
await Promise.all(planes.slice(1).map((plane) => plane.close()));
await Promise.all(meshes.slice(1).map((mesh) => mesh.close()));
rmSync(directory, { recursive: true });
