import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { patient } from '../src/patience.js';
import { deviceOf } from './devices.js';

const execute = promisify(execFile);
const MAIN = fileURLToPath(new URL('../../apps/rdmc/dist/main.js', import.meta.url));
const LIMIT_MS = 60_000;
const HOSTS = ['127.0.0.1', '127.0.0.2'];
const FILE_BYTES = 3_000_001;
/** Few requests: they show that the benchmarks work, not how fast the device is. */
const BENCHMARKS = [
  ['bandwidth', '--sizes', '64KiB', '--seconds', '0.1'],
  ['rate', '--sizes', '64', '--seconds', '0.1', '--operation', 'send'],
  ['latency', '--sizes', '64', '--rounds', '100'],
  ['multicast', '--members', '3', '--sizes', '1MiB', '--rounds', '1'],
] as const;

interface Event {
  readonly event?: string;
  readonly [field: string]: unknown;
}

/** Runs the command to its end and resolves with its JSON lines; fails if the command fails. */
async function rdmc(...args: readonly string[]): Promise<Event[]> {
  const limit = { timeout: patient(LIMIT_MS), maxBuffer: Number.POSITIVE_INFINITY };
  // It rejects with the output where the command fails.
  const { stdout } = await execute(process.execPath, [MAIN, ...args, '--json'], limit);
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Event);
}

/** Replaces ssh: every host is this machine, with a separate home directory. */
function shellOf(folder: string): string {
  const path = join(folder, 'shell');
  const script = `#!/bin/sh\ncd ${folder}/$1 && shift && exec sh -c "exec $*"\n`;
  writeFileSync(path, script, { mode: 0o755 });
  for (const host of HOSTS) mkdirSync(join(folder, host));
  return path;
}

export function commands(): void {
  describe('the rdmc command on an RDMA device', () => {
    let folder: string;
    beforeEach(() => {
      folder = mkdtempSync(join(tmpdir(), 'rdmc-commands-'));
    });
    afterEach(() => rmSync(folder, { recursive: true, force: true }));

    it('rdmc demo --device: verified at all members, with every algorithm', async () => {
      const events = await rdmc('demo', '--members', '3', '--size', '1MiB', '--device', deviceOf(0));
      assert.ok(events.length > 0);
      assert.match(JSON.stringify(events), new RegExp(`"${deviceOf(0)}"`));
    });

    for (const [benchmark, ...args] of BENCHMARKS) {
      it(`rdmc bench ${benchmark} --device`, async () => {
        const [document] = await rdmc('bench', benchmark, ...args, '--device', deviceOf(0));
        assert.deepEqual([document!.benchmark, document!.device], [benchmark, deviceOf(0)]);
        assert.match(String(document!.transport), /^(roce|infiniband)$/);
        assert.ok((document!.results as unknown[]).length > 0);
      });
    }

    it('rdmc cast --device: the file is the same at every receiver', async () => {
      const file = join(folder, 'file');
      const content = randomBytes(FILE_BYTES);
      writeFileSync(file, content);
      const remote = [
        '--ssh',
        '--remote-shell',
        shellOf(folder),
        '--remote-command',
        `${process.execPath} ${MAIN}`,
      ];
      const times = ['--stall-timeout', `${patient(30)}s`, '--connect-timeout', `${patient(30)}s`];
      await rdmc('cast', file, '--to', HOSTS.join(), ...remote, ...times, '--device', deviceOf(0));
      for (const host of HOSTS) {
        assert.equal(Buffer.compare(readFileSync(join(folder, host, 'file')), content), 0, host);
      }
    });
  });
}
