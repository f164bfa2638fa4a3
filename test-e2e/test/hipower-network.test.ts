import { join } from 'node:path';
import type { ChannelOptions } from '@rdmc/hipower';
import { createLab, type Netlab } from '@rdmc/netlab';
import { temporaryDirectory } from '@rdmc/testing';
import { expect, onTestFailed, onTestFinished } from 'vitest';
import { labTest, longLabTest } from '../src/cast-lab.js';
import {
  expectAccount,
  type HiPowerEndOptions,
  type HiPowerMemberOptions,
  HiPowerProcess,
  hiPowerCommand,
} from '../src/hipower-process.js';

/** HiPower between hosts of a shaped network (`tools/netlab`), over TCP: a process a host, member i in host hi. Some need RDMC_TEST_LONG=1. */

const TIMEOUT_MS = 180_000;
const PORT = 7431;
const KEY = '0123456789abcdef'.repeat(4);
const MESSAGE_BYTES = 4096;
const SLOT_BYTES = 1024;
const SLOTS_A_MESSAGE = MESSAGE_BYTES / SLOT_BYTES;
/** A message has four slots, of 64: the ring is used 25 times. */
const MESSAGES = 400;
/** More messages than any test waits for. */
const ENDLESS = { name: 'network', messages: 1e9, reportAt: 300 };
const KINDS: Partial<ChannelOptions>[] = [
  { mode: 'push' },
  { mode: 'pull' },
  { confirmation: 'per-request' },
];

interface Channel {
  readonly name: string;
  readonly from: readonly number[];
  readonly to: readonly number[];
  readonly messages: number;
  readonly reportAt?: number;
  readonly options?: Partial<ChannelOptions>;
}

interface NetworkOptions {
  /** How long a silent member may be. */
  readonly silenceTimeoutMs?: number;
  readonly rate?: string;
}

interface Network {
  readonly lab: Netlab;
  readonly members: readonly HiPowerProcess[];
}

/** The ends that a member has of these channels; it records what it consumes in a file for each. */
function endsOf(id: number, channels: readonly Channel[], folder: string): HiPowerEndOptions[] {
  const own = channels.filter(({ from, to }) => from.includes(id) || to.includes(id));
  return own.map(({ name, from, to, messages, reportAt, options }) => ({
    options: {
      ...{ channel: name, slots: 64, slotBytes: SLOT_BYTES, ...options },
      ...(from.includes(id) ? { to } : { from }),
    },
    messages,
    messageBytes: MESSAGE_BYTES,
    log: join(folder, `${id}-${name}`),
    ...(reportAt !== undefined && { reportAt }),
  }));
}

/** Hosts with a member each, connected by these channels. Everything goes with the test. */
async function start(
  channels: readonly Channel[],
  { silenceTimeoutMs = 20_000, rate = '100mbit' }: NetworkOptions = {},
): Promise<Network> {
  const folder = temporaryDirectory('rdmc-e2e-hipower');
  const hosts = 1 + Math.max(...channels.flatMap(({ from, to }) => [...from, ...to]));
  const lab = await createLab({ hosts, rate });
  onTestFinished(async () => {
    await lab.destroy();
  });
  const list = lab.hosts.map(({ ipv4 }, id) => ({ id, host: ipv4, port: PORT }));
  const { RDMC_KEY: _, RDMC_DEVICE: __, ...env } = process.env;
  const members = lab.hosts.map(({ name }, id) => {
    const options: HiPowerMemberOptions = {
      // Workers that wait for the network and poll take the processors from the other hosts.
      node: { id, members: list, key: KEY, device: 'soft', windowMs: 0, silenceTimeoutMs },
      ends: endsOf(id, channels, folder),
    };
    const child = lab.exec(name, ...hiPowerCommand(options), { stdio: ['ignore', 'pipe', 'inherit'], env });
    return new HiPowerProcess(child, options);
  });
  onTestFailed(() => console.error(members.map(({ id, events }) => ({ id, events }))));
  const ready = await Promise.all(members.map((member) => member.ready()));
  for (const { transports } of ready.flat()) expect(new Set(transports)).toEqual(new Set(['tcp']));
  return { lab, members };
}

/** Each shape with each kind, all at once: a process takes longer to start than a channel to send. */
const SHAPES = {
  'one-to-one': { from: [0], to: [1] },
  gather: { from: [0, 1, 2], to: [3] },
  broadcast: { from: [0], to: [1, 2, 3] },
} as const;

longLabTest(
  'one to one, gather and broadcast, pushed, pulled and confirmed each: every message once, in order, and as it was',
  async () => {
    const channels = KINDS.flatMap((options, kind) =>
      Object.entries(SHAPES).map(
        ([shape, ends]): Channel => ({ name: `${shape}-${kind}`, ...ends, messages: MESSAGES, options }),
      ),
    );
    const { lab, members } = await start(channels);
    for (const { name, from, to } of channels) {
      await Promise.all([...from, ...to].map((id) => members[id]!.eventOf(name, 'done')));
    }
    await Promise.all(members.map((member) => member.ends()));
    for (const { name, from, to } of channels) {
      for (const receiver of to) {
        for (const sender of from)
          expect(members[receiver]!.consumed(sender, name), `${name}, ${sender} to ${receiver}`).toBe(
            MESSAGES,
          );
      }
    }
    for (const { name: host } of lab.hosts) expect(lab.processes(host)).toEqual([]);
  },
  TIMEOUT_MS,
);

labTest(
  'a responder killed in a broadcast: the requester names it and what was consumed, the others consumed in order',
  async () => {
    const { members } = await start([{ ...ENDLESS, from: [0], to: [1, 2, 3] }]);
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

longLabTest(
  'a requester killed in a gather: the responder consumes what arrived, and names the dead member',
  async () => {
    const { members } = await start([{ ...ENDLESS, from: [0, 1], to: [2] }]);
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
    const { lab, members } = await start([{ ...ENDLESS, from: [0], to: [1] }], { silenceTimeoutMs: 10_000 });
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
    // Seven seconds of messages: a busy machine has not sent them when the link is cut.
    const messages = 4000;
    const options = { timeoutMs: 120_000 };
    const { lab, members } = await start([{ ...ENDLESS, from: [0], to: [1], messages, options }], {
      silenceTimeoutMs: 120_000,
      rate: '20mbit',
    });
    const [requester, responder] = members;
    await responder!.event('reached');
    await lab.cut('h1');
    // The connection was dropped, and a new one is requested over a cut link.
    await requester!.event('generation');
    await lab.heal('h1');
    expect((await requester!.event('done')).generation).toBeGreaterThan(1);
    await Promise.all(members.map((member) => member.ends()));
    expect(responder!.consumed(0)).toBe(messages);
  },
  TIMEOUT_MS,
);
