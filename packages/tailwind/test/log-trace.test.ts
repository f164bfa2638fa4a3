import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeTrace, TraceFile, TraceKind, TraceProtocol } from '@rdmc/dataplane/trace';
import { temporaryDirectory } from '@rdmc/testing';
import { expect, it } from 'vitest';
import { createLog, object, startCluster } from './support/cluster.js';

it.each(['worker', 'application'] as const)('a log records its appends: thread %s', async (thread) => {
  const path = join(temporaryDirectory(), 'log.trace');
  const trace = await TraceFile.create(path);
  const cluster = await startCluster(3, { trace });
  const { log } = await createLog(cluster[0]!, { replicas: 2, thread });
  for (let i = 0; i < 3; i += 1) await log.append(object(i)).acknowledged;
  await log.close();
  await cluster[0]!.kill();
  await trace.close();
  const { events } = decodeTrace(await readFile(path));
  // The log opens its next segment in the background; the end of the log may interrupt that.
  const of = (kind: number) =>
    events.filter(
      (event) => event.protocol === TraceProtocol.TAILWIND && event.kind === kind && event.block === 1,
    );
  const ended = of(TraceKind.SEND_FINISHED);
  expect(new Set(ended.map(({ member, group, peer }) => `${member} ${group} ${peer}`))).toEqual(
    new Set(['0 7 1', '0 7 2']),
  );
  // The segment's header and three objects.
  expect(of(TraceKind.BEGAN).map(({ message }) => message)).toEqual([1, 2, 3, 4]);
  expect(of(TraceKind.SEND_STARTED).length).toBe(8);
  expect(ended.length).toBe(8);
  expect(of(TraceKind.FINISHED).map(({ message }) => message)).toEqual([1, 2, 3, 4]);
  const waits = events.filter(({ kind, protocol }) => kind >= 40 && protocol === TraceProtocol.TAILWIND);
  expect(waits.at(-1)!.kind).toBe(TraceKind.WAITS_FOR_NOTHING);
});
