import { once } from 'node:events';
import { createLab, type Netlab } from '@rdmc/netlab';
import { expect, onTestFailed, onTestFinished } from 'vitest';
import { labTest } from '../src/cast-lab.js';
import { MemberProcess } from '../src/member-process.js';
import type { Outcome } from '../src/member-types.js';

/**
 * Groups between hosts that have two addresses: one for the mesh, one for the soft device. Either path can be cut
 * alone, and in one direction: packets are dropped silently.
 */

const TIMEOUT_MS = 180_000;
const PORT = 7451;
const KEY = '0123456789abcdef'.repeat(4);
const HOSTS = [0, 1, 2];
const [ROOT, RELAY, LEAF] = HOSTS;
const CHAIN = [ROOT, RELAY, LEAF];
const GROUP = 1;
/** More than a busy machine keeps a process that runs from its processor, and less than the keep-alive of connections. */
const RETRY_MS = 6_000;
/** Priority of a routing rule: right behind the table of local addresses. */
const FIRST_RULE = '1';

type Path = 'data' | 'mesh';
const addressOf = (path: Path, host: number): string => `10.${path === 'mesh' ? 77 : 78}.0.${host + 1}`;

interface Network {
  readonly lab: Netlab;
  readonly members: readonly MemberProcess[];
}

async function inHost(lab: Netlab, host: number, ...command: readonly string[]): Promise<void> {
  const [program, ...args] = command;
  const child = lab.exec(`h${host}`, program!, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${command.join(' ')} in h${host} ended with ${code}`);
}

/** Begins to drop packets from `from` to `to` on that path, or ends it. */
function drop(lab: Netlab, verb: 'add' | 'delete', path: Path, [from, to]: readonly [number, number]) {
  const rule = ['pref', FIRST_RULE, 'to', addressOf(path, to), 'blackhole'];
  return inHost(lab, from, 'ip', 'rule', verb, ...rule);
}

type Direction = 'in' | 'out' | 'both';

/** Cuts one path of the relay, or heals it. `out`: what it sends; `in`: what is sent to it. */
async function cut(lab: Netlab, path: Path, direction: Direction, verb: 'add' | 'delete' = 'add') {
  for (const other of HOSTS.filter((host) => host !== RELAY)) {
    if (direction !== 'in') await drop(lab, verb, path, [RELAY!, other]);
    if (direction !== 'out') await drop(lab, verb, path, [other, RELAY!]);
  }
}

/** A member a host. */
async function join(): Promise<Network> {
  const lab = await createLab({ hosts: HOSTS.length, rate: '100mbit' });
  const members: MemberProcess[] = [];
  onTestFinished(async () => {
    for (const member of members) member.signal('SIGKILL');
    await Promise.all(members.map(({ exited }) => exited));
    await lab.destroy();
  });
  onTestFailed(() => console.error(members.map(({ id, events, stderr }) => ({ id, events, stderr }))));
  for (const host of HOSTS)
    await inHost(lab, host, 'ip', 'address', 'add', `${addressOf('data', host)}/24`, 'dev', 'eth0');
  const list = HOSTS.map((id) => ({ id, host: addressOf('mesh', id), port: PORT }));
  const { RDMC_KEY: _, RDMC_DEVICE: __, ...env } = process.env;
  for (const id of HOSTS) {
    const start = (command: string, args: readonly string[], options: object) =>
      lab.exec(`h${id}`, command, args, { ...options, env });
    members.push(new MemberProcess(id, undefined, start));
  }
  await Promise.all(members.map((member) => member.event('ready')));
  await Promise.all(
    members.map((member) => {
      const device = { device: 'soft', transport: 'tcp', listen: { host: addressOf('data', member.id) } };
      // Silence of the mesh is not detected in this test.
      return member.call('join', { id: member.id, members: list, key: KEY, device, silenceTimeoutMs: 0 });
    }),
  );
  return { lab, members };
}

/**
 * A group whose receivers have no memory for the first message: its first block has gone as far as it can, and nobody has
 * anything under way.
 */
async function standStill({ members }: Network, id: number): Promise<{ sends: Promise<Outcome[]> }> {
  const options = { algorithm: 'chain', blockBytes: 65_536, retryTimeoutMs: RETRY_MS };
  const group = { id, members: CHAIN, ...options, stall: true };
  await Promise.all(members.map((member) => member.call('createGroup', group)));
  const sends = members[ROOT!]!.call<Outcome[]>('send', { group: id, seed: 1, byteLength: 1 << 20 });
  sends.catch(() => {});
  await Promise.all(
    [RELAY, LEAF].map((host) => members[host!]!.event('stalled', (event) => event.group === id)),
  );
  return { sends };
}

/** All know, and the first of them by a probe: the keep-alive of the connections takes half a minute, and flushes. */
async function expectAllToKnow({ members }: Network, id: number, sends: Promise<Outcome[]>): Promise<void> {
  const receivers = [RELAY, LEAF].map((host) => members[host!]!.event('end', ({ group }) => group === id));
  const errors = [...(await sends), ...(await Promise.all(receivers))].map(({ error }) => error);
  for (const error of errors) expect(error).toMatchObject({ code: 'ERR_RDMC_MEMBER_LOST' });
  expect(errors.map((error) => error!.reason).join()).toContain('RETRY_EXCEEDED');
}

const DIRECTIONS: readonly Direction[] = ['both', 'in', 'out'];

labTest(
  'a relay’s data path is cut (both, in, out) and healed, while all wait: all know, and a new group works',
  async () => {
    const network = await join();
    for (const [id, direction] of DIRECTIONS.entries()) {
      const { sends } = await standStill(network, id);
      await cut(network.lab, 'data', direction);
      await expectAllToKnow(network, id, sends);
      await cut(network.lab, 'data', direction, 'delete');
    }
  },
  TIMEOUT_MS,
);

for (const direction of DIRECTIONS) {
  labTest(
    `a relay’s data path and its mesh path are cut (${direction}), while all wait: all know`,
    async () => {
      const network = await join();
      const { sends } = await standStill(network, GROUP);
      await cut(network.lab, 'mesh', direction);
      await cut(network.lab, 'data', direction);
      await expectAllToKnow(network, GROUP, sends);
    },
    TIMEOUT_MS,
  );
}

labTest(
  'a relay’s data path is cut in mid-message, while devices relay: all know',
  async () => {
    const { lab, members } = await join();
    const options = { algorithm: 'chain', blockBytes: 16_384, retryTimeoutMs: RETRY_MS, relay: 'device' };
    await Promise.all(
      members.map((member) => member.call('createGroup', { id: GROUP, members: CHAIN, ...options })),
    );
    const message = { group: GROUP, seed: 1, byteLength: 1 << 20 };
    const sends = members[ROOT!]!.call<Outcome[]>('send', { ...message, count: 'endless' });
    sends.catch(() => {});
    const some = { group: GROUP, field: 'bytesReceived', least: message.byteLength };
    await members[LEAF!]!.call('reached', some);
    await cut(lab, 'data', 'both');
    const failed = sends.then((outcomes) => outcomes.filter(({ error }) => error !== null));
    await expectAllToKnow({ lab, members }, GROUP, failed);
    expect(await failed).not.toEqual([]);
  },
  TIMEOUT_MS,
);
