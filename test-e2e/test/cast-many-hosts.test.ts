import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { CastLab, type Command, longLabTest } from '../src/cast-lab.js';

/** A cast to as many hosts as a laboratory has: needs RDMC_TEST_LONG=1. */

const MIB = 1 << 20;
const TIMEOUT_MS = 180_000;
/** So few that each one listens within the time of a start on a machine with two cores. */
const STARTED_AT_ONCE = 4;

longLabTest(
  'a small file arrives at 63 hosts, and nothing warns',
  async () => {
    const lab = await CastLab.create(64, '100mbit');
    const path = join(lab.folderOf('h0'), 'sample');
    const original = randomBytes(MIB);
    writeFileSync(path, original);
    const hosts = [...lab.receivers];
    const receivers: Command[] = [];
    while (hosts.length > 0) {
      const next = hosts.splice(0, STARTED_AT_ONCE);
      receivers.push(...(await Promise.all(next.map((host) => lab.receive(host, { once: true })))));
    }
    const cast = lab.cast(path, lab.receivers, '--stall-timeout', '60s', '--connect-timeout', '90s');
    expect(await cast.ended, cast.stderr).toBe(0);
    for (const { ended } of receivers) expect(await ended).toBe(0);
    for (const { stderr } of [cast, ...receivers]) expect(stderr).toBe('');
    for (const host of lab.receivers) {
      expect([host, lab.entriesOf(host)]).toEqual([host, ['sample']]);
      expect(readFileSync(join(lab.folderOf(host), 'sample')).equals(original), host).toBe(true);
    }
  },
  TIMEOUT_MS,
);
