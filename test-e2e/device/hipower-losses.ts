import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { descriptorOf, membersAt } from '@rdmc/testing/members';
import {
  expectAccount,
  type HiPowerEndOptions,
  HiPowerProcess,
  hiPowerCommand,
} from '../src/hipower-process.js';
import { patient } from '../src/patience.js';
import { addDevice, deviceOf, EXPENDABLE, removeDevice, WHY_NOT } from './devices.js';
import { RETRY_MS } from './members.js';

const MESSAGE_BYTES = 1024;
/** In a child, the socket it inherits: 0 to 2 are the standard streams. */
const INHERITED_FD = 3;
/** More messages than any test waits for. */
const ENDLESS = 1e9;
/** Members 1 and 2 have two channels with member 0 each: one from it in push mode, one to it in pull mode. */
const KILLED = 2;
const REMOVED = 1;
const down = (member: number): string => `to ${member}`;
const up = (member: number): string => `from ${member}`;

/** Member i in a process of its own on device i; resolves when all ends are connected. */
async function start(folder: string): Promise<HiPowerProcess[]> {
  const reserved = await reserveLoopbackPorts(3);
  const members = membersAt(reserved);
  const processes = reserved.map(({ server }, id) => {
    const end = (channel: string, more: object): HiPowerEndOptions => ({
      options: {
        ...{ channel, slots: 32, slotBytes: MESSAGE_BYTES, spinMs: 0 },
        ...{ retryTimeoutMs: RETRY_MS, timeoutMs: patient(30_000), ...more },
      },
      ...{ messages: ENDLESS, messageBytes: MESSAGE_BYTES, reportAt: 50 },
      log: join(folder, `consumed-${channel}`),
    });
    const ends = (id === 0 ? [REMOVED, KILLED] : [id]).flatMap((member) => {
      const other = id === 0 ? member : 0;
      const [out, into] = id === 0 ? [down(member), up(member)] : [up(member), down(member)];
      const [outMode, intoMode] = id === 0 ? ['push', 'pull'] : ['pull', 'push'];
      return [end(out, { mode: outMode, to: other }), end(into, { mode: intoMode, from: other })];
    });
    const node = { id, members, device: deviceOf(id), windowMs: 0, silenceTimeoutMs: patient(10_000) };
    const options = { node, fd: INHERITED_FD, ends };
    const fd = descriptorOf(server);
    const child = spawn(...hiPowerCommand(options), { stdio: ['ignore', 'pipe', 'inherit', fd] });
    server.close();
    return new HiPowerProcess(child, options);
  });
  await Promise.all(processes.map((one) => one.ready()));
  return processes;
}

export function hipowerLosses(): void {
  describe('HiPower loses a member in mid-stream: the errors name it, and what was consumed', () => {
    let folder: string;
    let processes: HiPowerProcess[] = [];
    before(async () => {
      folder = mkdtempSync(join(tmpdir(), 'rdmc-hipower-losses-'));
      processes = await start(folder);
    });
    after(async () => {
      await Promise.all(processes.map((one) => one.kill()));
      rmSync(folder, { recursive: true, force: true });
    });

    async function midStream(member: number): Promise<void> {
      await processes[member]!.eventOf(down(member), 'reached');
      await processes[0]!.eventOf(up(member), 'reached');
    }

    /** The errors of member 0's channels with a lost member. */
    async function expectLoss(member: number, code: string): Promise<void> {
      const hub = processes[0]!;
      expectAccount(await hub.failed(code, member, down(member)), processes[member]!.consumed(0));
      const { released } = await hub.failed(code, member, up(member));
      // Messages that had arrived were consumed, although their sender is lost.
      assert.ok(hub.consumed(member) >= released);
    }

    it('kill -9 of a member that receives and sends', async () => {
      await midStream(KILLED);
      await processes[KILLED]!.kill();
      await expectLoss(KILLED, 'ERR_RDMC_HIPOWER_PEER_LOST');
    });

    const title =
      'the device of such a member is removed (rdma link del): its error says so, and the process continues';
    it(EXPENDABLE ? title : `${title} [${WHY_NOT}]`, { skip: !EXPENDABLE }, async () => {
      await midStream(REMOVED);
      const removed = removeDevice(REMOVED);
      try {
        for (const channel of [down(REMOVED), up(REMOVED)]) {
          const { code, message } = await processes[REMOVED]!.eventOf(channel, 'failed');
          assert.equal(code, 'ERR_RDMC_DEVICE_REMOVED', message);
        }
        await expectLoss(REMOVED, 'ERR_RDMC_HIPOWER_PEER_CLOSED');
        assert.match((await processes[0]!.eventOf(up(REMOVED), 'failed')).reason!, /RDMA device is gone/);
        await Promise.all([processes[REMOVED]!.ends(), processes[0]!.ends()]);
        // The removal waits for the last user of the device.
        await removed;
      } finally {
        for (const one of processes) await one.kill();
        await removed;
        await addDevice(REMOVED);
      }
    });
  });
}
