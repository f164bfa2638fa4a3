import { join } from 'node:path';
import type { ChannelOptions } from '@rdmc/hipower';
import { createLab, type Netlab } from '@rdmc/netlab';
import { temporaryDirectory } from '@rdmc/testing';
import { describe, expect, onTestFailed, onTestFinished } from 'vitest';
import { labTest, longLabTest } from '../src/cast-lab.js';
import {
  expectAccount,
  type HiPowerMemberOptions,
  HiPowerProcess,
  hiPowerCommand,
} from '../src/hipower-process.js';

/** HiPower between hosts of a shaped network (`tools/netlab`), over TCP: a process a host, member i in host hi. */

const TIMEOUT_MS = 180_000;
const PORT = 7431;
const KEY = '0123456789abcdef'.repeat(4);
const MESSAGE_BYTES = 4096;
const SLOT_BYTES = 1024;
const SLOTS_A_MESSAGE = MESSAGE_BYTES / SLOT_BYTES;
/** A message has four slots, of 64: the ring is used fifty times. */
const MESSAGES = 800;
/** More messages than any test waits for. */
const ENDLESS = 1e9;
const KINDS: Partial<ChannelOptions>[] = [
  { mode: 'push' },
  { mode: 'pull' },
  { confirmation: 'per-request' },
];

interface Shape {
  readonly from: readonly number[];
  readonly to: readonly number[];
  readonly messages: number;
  readonly reportAt?: number;
  /** How long a silent member may be. */
  readonly silenceTimeoutMs?: number;
  readonly channel?: Partial<ChannelOptions>;
}

interface Network {
  readonly lab: Netlab;
  readonly members: readonly HiPowerProcess[];
}

/** Hosts with a member each, connected. Everything goes with the test. */
async function start(shape: Shape): Promise<Network> {
  const folder = temporaryDirectory('rdmc-e2e-hipower');
  const lab = await createLab({ hosts: shape.from.length + shape.to.length, rate: '100mbit' });
  onTestFinished(async () => {
    await lab.destroy();
  });
  const list = lab.hosts.map(({ ipv4 }, id) => ({ id, host: ipv4, port: PORT }));
  const { RDMC_KEY: _, RDMC_DEVICE: __, ...env } = process.env;
  const members = lab.hosts.map(({ name }, id) => {
    const ends = shape.from.includes(id) ? { to: shape.to } : { from: shape.from };
    const options: HiPowerMemberOptions = {
      node: {
        // Workers that wait for the network and poll take the processors from the other hosts.
        ...{ id, members: list, key: KEY, device: 'soft', windowMs: 0 },
        silenceTimeoutMs: shape.silenceTimeoutMs ?? 20_000,
      },
      ends: [
        {
          options: { channel: 'network', slots: 64, slotBytes: SLOT_BYTES, ...shape.channel, ...ends },
          messages: shape.messages,
          messageBytes: MESSAGE_BYTES,
          log: join(folder, name),
          ...(shape.reportAt !== undefined && { reportAt: shape.reportAt }),
        },
      ],
    };
    const child = lab.exec(name, ...hiPowerCommand(options), { stdio: ['ignore', 'pipe', 'inherit'], env });
    return new HiPowerProcess(child, options);
  });
  onTestFailed(() => console.error(members.map(({ id, events }) => ({ id, events }))));
  const ready = await Promise.all(members.map((member) => member.event('ready')));
  for (const { transports } of ready) expect(new Set(transports)).toEqual(new Set(['tcp']));
  return { lab, members };
}

describe.each(KINDS)('HiPower between hosts over TCP, %j', (channel) => {
  const shapes = [
    ['one to one', { from: [0], to: [1] }],
    ['gather', { from: [0, 1, 2], to: [3] }],
    ['broadcast', { from: [0], to: [1, 2, 3] }],
  ] as const;
  for (const [name, ends] of shapes) {
    // A gather and a broadcast contain what is one to one, which one kind of channel has nevertheless (all: RDMC_TEST_LONG=1).
    const isContained = name === 'one to one' && channel !== KINDS[0];
    (isContained ? longLabTest : labTest)(
      `${name}, ${JSON.stringify(channel)}: every message once, in order, and as it was`,
      async () => {
        const { lab, members } = await start({ ...ends, messages: MESSAGES, channel });
        await Promise.all(members.map((member) => member.event('done')));
        await Promise.all(members.map((member) => member.ends()));
        for (const to of ends.to) {
          for (const from of ends.from) expect(members[to]!.consumed(from)).toBe(MESSAGES);
        }
        for (const { name: host } of lab.hosts) expect(lab.processes(host)).toEqual([]);
      },
      TIMEOUT_MS,
    );
  }
});

labTest(
  'a responder killed in a broadcast: the requester names it and what was consumed, the others consumed in order',
  async () => {
    const ends = { from: [0], to: [1, 2, 3] };
    const { members } = await start({ ...ends, messages: ENDLESS, reportAt: 300 });
    const [requester, lost, ...others] = members;
    await lost!.event('reached');
    await lost!.kill();
    const account = await requester!.failed('ERR_RDMC_HIPOWER_PEER_LOST', 1);
    expectAccount(account, SLOTS_A_MESSAGE * lost!.consumed(0));
    for (const other of others) {
      await other.failed('ERR_RDMC_HIPOWER_PEER_CLOSED', 0);
      other.consumed(0);
      await other.ends();
    }
    await requester!.ends();
  },
  TIMEOUT_MS,
);

labTest(
  'a requester killed in a gather: the responder consumes what arrived, and names the dead member',
  async () => {
    const { members } = await start({ from: [0, 1], to: [2], messages: ENDLESS, reportAt: 300 });
    const [lost, , responder] = members;
    await responder!.event('reached');
    await lost!.kill();
    const { delivered } = await responder!.failed('ERR_RDMC_HIPOWER_PEER_LOST', 0);
    expect(responder!.consumed(0)).toBeGreaterThanOrEqual(delivered / SLOTS_A_MESSAGE - 1);
    responder!.consumed(1);
    await responder!.ends();
  },
  TIMEOUT_MS,
);

labTest(
  'a link that is cut permanently: each side names the lost member, and nothing was consumed twice',
  async () => {
    const ends = { from: [0], to: [1] };
    const { lab, members } = await start({
      ...ends,
      messages: ENDLESS,
      reportAt: 300,
      silenceTimeoutMs: 10_000,
    });
    const [requester, responder] = members;
    await responder!.event('reached');
    await lab.cut('h1');
    const account = await requester!.failed('ERR_RDMC_HIPOWER_PEER_LOST', 1);
    await responder!.failed('ERR_RDMC_HIPOWER_PEER_LOST', 0);
    expectAccount(account, SLOTS_A_MESSAGE * responder!.consumed(0));
    await Promise.all(members.map((member) => member.ends()));
  },
  TIMEOUT_MS,
);

labTest(
  'a link that is healed: a new connection continues where the old one broke, and everything arrives once',
  async () => {
    const ends = { from: [0], to: [1] };
    const channel = { timeoutMs: 120_000 };
    const { lab, members } = await start({
      ...ends,
      messages: 20_000,
      reportAt: 300,
      silenceTimeoutMs: 120_000,
      channel,
    });
    const [requester, responder] = members;
    await responder!.event('reached');
    await lab.cut('h1');
    // The connection was dropped, and a new one is requested over a cut link.
    await requester!.event('generation');
    await lab.heal('h1');
    expect((await requester!.event('done')).generation).toBeGreaterThan(1);
    await Promise.all(members.map((member) => member.ends()));
    expect(responder!.consumed(0)).toBe(20_000);
  },
  TIMEOUT_MS,
);
