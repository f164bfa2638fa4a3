import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { type CastEvent, CastLab, type Command, labTest, longLabTest } from '../src/cast-lab.js';

/** Casts with real processes between hosts of a shaped network: see also `tools/netlab`. Some need RDMC_TEST_LONG=1. */

const MIB = 1 << 20;
const TIMEOUT_MS = 180_000;
/** A cast of 16 MiB lasts eight seconds, in which a busy machine disturbs it. */
const SLOW = ['--bandwidth-limit', '2MiB/s'];
/** Long: a busy machine does not keep a receiver from its reports for that time. */
const STALL = ['--stall-timeout', '10s'];

function sample(lab: CastLab, mebibytes: number): string {
  const path = join(lab.folderOf('h0'), 'sample');
  writeFileSync(path, randomBytes(mebibytes * MIB));
  return path;
}

function receiversOf(finished: CastEvent): Record<string, string> {
  const receivers = finished.receivers as { name: string; state: string; code: string | null }[];
  return Object.fromEntries(receivers.map(({ name, state, code }) => [name, code ?? state]));
}

/** Every receiver has received something. */
const inMidTransfer = (cast: Command): Promise<CastEvent> =>
  cast.event('progress', ({ receivers }) =>
    (receivers as { receivedBytes: number }[]).every(({ receivedBytes }) => receivedBytes > MIB),
  );

function expectSame(lab: CastLab, path: string, hosts: readonly string[]): void {
  const original = readFileSync(path);
  for (const host of hosts) {
    expect([host, lab.entriesOf(host)]).toEqual([host, ['sample']]);
    expect(readFileSync(join(lab.folderOf(host), 'sample')).equals(original), host).toBe(true);
  }
}

labTest(
  'a directory arrives at all hosts over TCP, and the receivers exit',
  async () => {
    const lab = await CastLab.create(5, '200mbit');
    const path = join(lab.folderOf('h0'), 'tree');
    mkdirSync(join(path, 'deep'), { recursive: true });
    const large = randomBytes(6 * MIB);
    writeFileSync(join(path, 'large'), large);
    for (let i = 0; i < 300; i += 1) writeFileSync(join(path, 'deep', `${i}`), `file ${i}`);
    const receivers = await Promise.all(lab.receivers.map((host) => lab.receive(host, { once: true })));
    const cast = lab.cast(path, lab.receivers);
    expect(await cast.ended).toBe(0);
    expect(await cast.event('route')).toMatchObject({ transports: ['tcp'] });
    expect(await Promise.all(receivers.map(({ ended }) => ended))).toEqual([0, 0, 0, 0]);
    for (const host of lab.receivers) {
      expect(lab.entriesOf(host)).toEqual(['tree']);
      expect(readFileSync(join(lab.folderOf(host), 'tree/large')).equals(large)).toBe(true);
      expect(readFileSync(join(lab.folderOf(host), 'tree/deep/299'), 'utf8')).toBe('file 299');
      expect(lab.lab.processes(host)).toEqual([]);
    }
  },
  TIMEOUT_MS,
);

labTest(
  'a link that is cut in mid-transfer fails only that host, which is named',
  async () => {
    const lab = await CastLab.create(4, '50mbit');
    const path = sample(lab, 16);
    await Promise.all(lab.receivers.map((host) => lab.receive(host)));
    const cast = lab.cast(path, lab.receivers, ...SLOW, ...STALL);
    await inMidTransfer(cast);
    await lab.lab.cut('h2');
    expect(await cast.ended).toBe(6);
    expect(receiversOf(await cast.event('finished'))).toEqual({
      [lab.to('h1')]: 'complete',
      [lab.to('h2')]: 'ERR_RDMC_RECEIVER_STALLED',
      [lab.to('h3')]: 'complete',
    });
    expectSame(lab, path, ['h1', 'h3']);
    expect(lab.entriesOf('h2')).not.toContain('sample');
  },
  TIMEOUT_MS,
);

longLabTest(
  'with --retries a host whose link comes back has everything in the end',
  async () => {
    const lab = await CastLab.create(4, '50mbit');
    const path = sample(lab, 16);
    await Promise.all(lab.receivers.map((host) => lab.receive(host)));
    const cast = lab.cast(path, lab.receivers, ...SLOW, ...STALL, '--retries', '5');
    await inMidTransfer(cast);
    await lab.lab.cut('h3');
    await cast.event('receiver', ({ name, state }) => name === lab.to('h3') && state === 'failed');
    await lab.lab.heal('h3');
    expect(await cast.ended).toBe(0);
    const finished = await cast.event('finished');
    const last = (finished.receivers as { name: string; attempts: number }[]).find(
      ({ name }) => name === lab.to('h3'),
    );
    expect(last!.attempts).toBeGreaterThan(1);
    expectSame(lab, path, lab.receivers);
  },
  TIMEOUT_MS,
);

// apps/rdmc has the same without a network.
longLabTest(
  'after kill -9 of a receiver in mid-transfer, the same cast sends only what that host lacks',
  async () => {
    const lab = await CastLab.create(4, '50mbit');
    const path = join(lab.folderOf('h0'), 'tree');
    const FILES = 40;
    mkdirSync(path);
    for (let i = 0; i < FILES; i += 1) writeFileSync(join(path, `f${i}`), randomBytes(MIB / 4));
    const receivers = await Promise.all(lab.receivers.map((host) => lab.receive(host)));
    // 20 s: a busy machine does not complete it before the kill.
    const slow = ['--message-size', '256KiB', '--bandwidth-limit', '500KB/s'];
    const cast = lab.cast(path, lab.receivers, ...slow);
    await cast.event('progress', (event) =>
      (event.receivers as { storedBytes: number }[]).every(({ storedBytes }) => storedBytes > MIB / 2),
    );
    await receivers[1]!.kill();
    expect(await cast.ended).toBe(6);
    // A new directory is not visible before it is complete.
    expect(lab.entriesOf('h2')).toEqual([expect.stringMatching(/^\.rdmc-cast-/)]);
    await lab.receive('h2');
    const again = lab.cast(path, lab.receivers, '--delete');
    expect(await again.ended).toBe(0);
    const finished = await again.event('finished');
    const stored = (finished.receivers as { unchangedFiles: number }[])[1]!.unchangedFiles;
    expect(stored).toBeGreaterThan(0);
    expect(stored).toBeLessThan(FILES);
    expect(finished).toMatchObject({ files: FILES, sentFiles: FILES - stored });
    expect(finished.receivers).toMatchObject([
      { name: lab.to('h1'), files: 0, unchangedFiles: FILES },
      { name: lab.to('h2'), files: FILES - stored },
      { name: lab.to('h3'), files: 0, unchangedFiles: FILES },
    ]);
    for (const host of lab.receivers) {
      expect([host, lab.entriesOf(host)]).toEqual([host, ['tree']]);
      for (let i = 0; i < FILES; i += 1)
        expect(
          readFileSync(join(lab.folderOf(host), 'tree', `f${i}`)).equals(readFileSync(join(path, `f${i}`))),
        ).toBe(true);
    }
  },
  TIMEOUT_MS,
);

longLabTest(
  'a link that becomes slow slows the cast, and no receiver is lost',
  async () => {
    const lab = await CastLab.create(4, '100mbit');
    const path = sample(lab, 16);
    await Promise.all(lab.receivers.map((host) => lab.receive(host)));
    const cast = lab.cast(path, lab.receivers);
    await inMidTransfer(cast);
    await lab.lab.slow('h1', '20mbit');
    expect(await cast.ended).toBe(0);
    expectSame(lab, path, lab.receivers);
  },
  TIMEOUT_MS,
);

labTest(
  '--ssh starts receivers through ip netns exec, and leaves nothing running',
  async () => {
    const lab = await CastLab.create(4, '200mbit');
    const path = sample(lab, 4);
    const cast = lab.castByShell(path, lab.receivers);
    expect(await cast.ended).toBe(0);
    expect(cast.events.filter(({ event }) => event === 'started')).toHaveLength(3);
    expectSame(lab, path, lab.receivers);
    for (const host of lab.receivers) expect(lab.lab.processes(host)).toEqual([]);
  },
  TIMEOUT_MS,
);

longLabTest(
  'a receiver with another key gets nothing and is named',
  async () => {
    const lab = await CastLab.create(3, '200mbit');
    const path = sample(lab, 1);
    await lab.receive('h1');
    await lab.receive('h2', { key: 'f'.repeat(64) });
    const cast = lab.cast(path, lab.receivers);
    expect(await cast.ended).toBe(6);
    expect(receiversOf(await cast.event('finished'))).toEqual({
      [lab.to('h1')]: 'complete',
      [lab.to('h2')]: 'ERR_RDMC_KEY_MISMATCH',
    });
    expectSame(lab, path, ['h1']);
    expect(lab.entriesOf('h2')).toEqual([]);
  },
  TIMEOUT_MS,
);

longLabTest(
  'a receiver killed in mid-transfer is named; the next one there removes its files',
  async () => {
    const lab = await CastLab.create(4, '50mbit');
    const path = sample(lab, 16);
    const receivers = await Promise.all(lab.receivers.map((host) => lab.receive(host)));
    const cast = lab.cast(path, lab.receivers, ...SLOW);
    await inMidTransfer(cast);
    await receivers[1]!.kill();
    expect(await cast.ended).toBe(6);
    expect(receiversOf(await cast.event('finished'))).toMatchObject({
      [lab.to('h1')]: 'complete',
      [lab.to('h2')]: 'ERR_RDMC_RECEIVER_LOST',
      [lab.to('h3')]: 'complete',
    });
    expectSame(lab, path, ['h1', 'h3']);
    expect(lab.entriesOf('h2')).toEqual([expect.stringMatching(/^\.rdmc-cast-/)]);
    const next = await lab.receive('h2');
    expect(lab.entriesOf('h2')).toEqual([]);
    next.child.kill('SIGTERM');
    expect(await next.ended).toBe(0);
    expect(lab.lab.processes('h2')).toEqual([]);
  },
  TIMEOUT_MS,
);
