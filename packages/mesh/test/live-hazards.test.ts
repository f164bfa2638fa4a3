import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { hostname } from 'node:os';
import { fileURLToPath } from 'node:url';
import { underTest, WatchedProcess } from '@rdmc/testing';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { PROTOCOL_VERSION } from '../src/constants.js';
import { encodeFrame, FrameType, LENGTH_BYTES } from '../src/frames.js';
import { Link } from '../src/link.js';
import { IntroductionCall } from '../src/live/introduction-call.js';
import type { RosterEntry } from '../src/live/roster.js';
import { reserveLoopbackPorts } from '../src/loopback.js';
import { assertWhole, rejection, until } from './helpers.js';
import {
  assertOrdered,
  converged,
  enter,
  event,
  grow,
  joining,
  type Live,
  type LiveJoining,
} from './live-helpers.js';
import { Gate } from './partition.js';

// Built code: a child process cannot load TypeScript. `npm run build -w @rdmc/mesh` comes first.
const fixture = fileURLToPath(new URL('fixtures/live-member.mjs', import.meta.url));

interface Told {
  readonly event: string;
  readonly code?: string;
}

function spawn(options: object): WatchedProcess<Told, 'event'> {
  const all = {
    insecure: true,
    listen: { host: '127.0.0.1', port: 0 },
    heartbeatMs: 50,
    silenceTimeoutMs: 0,
  };
  const stdio = ['ignore', 'pipe', 'pipe', 'ipc'] as const;
  const child = fork(fixture, [JSON.stringify({ ...all, ...options })], { stdio: [...stdio] });
  return underTest(new WatchedProcess<Told, 'event'>(child, 'event', { name: 'member' }));
}

/** Members behind gates, which join through the first. */
async function gated(count: number): Promise<{ all: Live[]; gates: Gate[] }> {
  const all: Live[] = [];
  const gates: Gate[] = [];
  const reserved = await reserveLoopbackPorts(count);
  for (const [id, { port, server }] of reserved.entries()) {
    const gate = await Gate.open(port);
    gates.push(gate);
    const through = id === 0 ? [] : [`127.0.0.1:${gates[0]!.port}`];
    all.push(await enter(id, through, { server, listen: { host: '127.0.0.1', port: gate.port } }));
  }
  await converged(all);
  return { all, gates };
}

function entryAt(id: number, port: number, more: Partial<RosterEntry> = {}): RosterEntry {
  const instance = id.toString(16).padStart(32, '0');
  return {
    id,
    incarnation: 1,
    instance,
    host: '127.0.0.1',
    port,
    process: { host: 'gone', pid: 1 },
    ...more,
  };
}

/** A port at which nobody listens, and which no other process is given. */
async function deadPort(): Promise<number> {
  const [reserved] = await reserveLoopbackPorts(1);
  const { port, server } = reserved!;
  server.close();
  await once(server, 'close');
  return port;
}

describe('a partition that heals', () => {
  it('both sides saw the others lost, and are connected anew', async () => {
    const { all, gates } = await gated(4);
    const sideOf = (id: number): boolean => id < 2;
    for (const [id, gate] of gates.entries()) gate.only((from) => sideOf(from) === sideOf(id));
    const cut = all.flatMap((one) =>
      all.filter((other) => sideOf(one.id) !== sideOf(other.id)).map(({ id }) => event(one, 'lost', id)),
    );
    await Promise.all(cut);
    // Each side goes on. What one side learns meanwhile reaches the other later.
    await Promise.all([assertWhole([all[0]!.mesh, all[1]!.mesh]), assertWhole([all[2]!.mesh, all[3]!.mesh])]);
    const fifth = await enter(4, [all[3]!]);
    await event(all[2]!, 'joined', 4);
    for (const gate of gates) gate.only(() => true);
    await converged([...all, fifth]);
    await assertWhole([...all, fifth].map(({ mesh }) => mesh));
    for (const each of all) assertOrdered(each);
    const again = all[0]!.events.filter(({ member, type }) => member === 2 && type === 'joined');
    expect(again.map(({ incarnation }) => incarnation)).toEqual(again.map(() => 1));
    expect(again.length).toBeGreaterThan(1);
  });

  it('a newcomer whose introducer has lost the holder of its id is refused where the holder answers', async () => {
    const { all, gates } = await gated(3);
    // Only member 0 is cut off from member 2.
    gates[2]!.only((from) => from !== 0);
    gates[0]!.only((from) => from !== 2);
    await event(all[0]!, 'lost', 2);
    // The newcomer reaches the introducer beside the gate.
    const error = await rejection(joining(2, [`127.0.0.1:${all[0]!.core.listener.port}`]).mesh);
    expect(error.code).toBe('ERR_RDMC_ID_IN_USE');
    gates[0]!.only(() => true);
    gates[2]!.only(() => true);
    await converged(all);
  });

  it('a holder that neither the newcomer nor its introducer reaches is replaced, also where another member reaches it', async () => {
    const { all, gates } = await gated(3);
    const [holder, other, introducer] = all;
    // The others call the lowest id; the newcomer calls it to see whether it answers.
    gates[0]!.only((from) => from === 1);
    gates[2]!.only((from) => from !== 0);
    await event(introducer!, 'lost', 0);
    expect(other!.mesh.peers.get(0)).toMatchObject({ state: 'connected', incarnation: 1 });
    const next = await enter(0, [`127.0.0.1:${introducer!.core.listener.port}`]);
    await holder!.mesh.closed;
    expect(holder!.mesh.signal.reason).toMatchObject({ code: 'ERR_RDMC_REPLACED' });
    await converged([other!, introducer!, next]);
    for (const each of [other!, introducer!]) assertOrdered(each);
  });
});

describe('two processes with one id', () => {
  it('the newcomer is refused with host and process id of the holder, which does not notice', async () => {
    const [a, b] = await grow(2);
    const error = await rejection(joining(1, [a!]).mesh);
    expect(error).toMatchObject({
      code: 'ERR_RDMC_ID_IN_USE',
      category: 'refused',
      holder: { host: hostname(), pid: process.pid },
    });
    expect(error.message).toContain(hostname());
    expect(error.message).toContain(String(process.pid));
    // Also the introducer's own id.
    expect((await rejection(joining(0, [a!]).mesh)).code).toBe('ERR_RDMC_ID_IN_USE');
    await assertWhole([a!.mesh, b!.mesh]);
    expect(a!.events.length).toBe(1);
  });

  it('two that join at once through different members: at most one stays', async () => {
    const [a, b] = await grow(2);
    const both = [joining(5, [a!]), joining(5, [b!])];
    const outcomes = await Promise.allSettled(both.map(({ mesh }) => mesh));
    // One of them may join first and be replaced by the other's claim afterwards: both others know the one that stays.
    const isKnown = ({ core }: LiveJoining): boolean =>
      [a!, b!].every(
        (other) => other.core.membership!.roster.get(5)?.instance === core.membership!.self.instance,
      );
    const connected = () => both.filter(({ core }) => core.links.size === 2);
    await until(() => connected().length === 1 && isKnown(connected()[0]!));
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') expect(outcome.reason.code).toBe('ERR_RDMC_ID_IN_USE');
    }
    await connected()[0]!.mesh;
    assertOrdered(a!);
    assertOrdered(b!);
  });
});

describe('a stopped process that continues after its replacement joined', () => {
  it.each([true, false])('stops with ERR_RDMC_REPLACED; replace: %s', async (replace) => {
    // The lowest id: it connects to nobody, so nobody refuses it by itself.
    const [a, b] = [await enter(1, []), await enter(2, [])];
    await b.mesh.close();
    const second = await enter(2, [a]);
    const child = spawn({ id: 0, join: [a.address] });
    await child.event('up');
    await Promise.all([event(a, 'joined', 0), event(second, 'joined', 0)]);
    child.signal('SIGSTOP');
    if (!replace) {
      // As if it had been silent for long enough.
      a.mesh.reportFailure(0, 'it is silent');
      second.mesh.reportFailure(0, 'it is silent');
    }
    const next = await enter(0, [a], { replace }, { holderTimeoutMs: 100 });
    expect(next.mesh.incarnation).toBe(2);
    await converged([a, second, next]);
    child.signal('SIGCONT');
    expect((await child.event('ended')).code).toBe('ERR_RDMC_REPLACED');
    await assertWhole([a.mesh, second.mesh, next.mesh]);
    assertOrdered(a);
    assertOrdered(second);
  });
});

describe('a newcomer that dies while joining', () => {
  it('after it was introduced: the others go on, and the next process of its id joins', async () => {
    const [a, b] = await grow(2);
    const port = await deadPort();
    const entry = entryAt(5, port);
    const { core } = a!;
    const call = await IntroductionCall.dial({
      to: { id: 0, host: '127.0.0.1', port: core.listener.port },
      hello: helloOf(core, entry),
      security: undefined,
      maxFrameBytes: 1 << 20,
      signal: new AbortController().signal,
    });
    await call.introduce({ entry, replace: false });
    call.close();
    await until(() => b!.mesh.members.some(({ id }) => id === 5));
    await assertWhole([a!.mesh, b!.mesh]);
    const next = await enter(5, [b!]);
    expect(next.mesh.incarnation).toBe(2);
    await converged([a!, b!, next]);
    assertOrdered(a!);
  });

  it('before it was introduced: nobody knows it', async () => {
    const [a] = await grow(1);
    const { core } = a!;
    const call = await IntroductionCall.dial({
      to: { id: 0, host: '127.0.0.1', port: core.listener.port },
      hello: helloOf(core, { ...entryAt(5, 1), incarnation: 0 }),
      security: undefined,
      maxFrameBytes: 1 << 20,
      signal: new AbortController().signal,
    });
    await call.roster();
    call.close();
    const next = await enter(5, [a!]);
    expect(next.mesh.incarnation).toBe(1);
  });
});

describe('a member that was killed', () => {
  it('keeps its attributes where it was connected, until another process has its id', async () => {
    const [a] = await grow(1);
    const child = spawn({ id: 2, join: [a!.address], attributes: { role: 'old' } });
    await event(a!, 'joined', 2);
    await child.kill();
    await event(a!, 'lost', 2);
    expect(a!.mesh.peers.get(2)).toMatchObject({ state: 'failed', attributes: { role: 'old' } });
    const newcomer = await enter(3, [a!], { attributes: { role: 'third' } });
    expect(newcomer.mesh.peers.get(2)).toMatchObject({ state: 'failed', incarnation: 1 });
    expect(newcomer.mesh.peers.get(2)!.attributes).toEqual({});
    // The next process of its id is known, and not connected yet.
    a!.core.membership!.learn({ entries: [entryAt(2, await deadPort(), { incarnation: 2 })], marks: [] });
    expect(a!.mesh.peers.get(2)).toMatchObject({ state: 'failed', incarnation: 2 });
    expect(a!.mesh.peers.get(2)!.attributes).toEqual({});
    const back = await enter(2, [a!], { attributes: { role: 'new' } });
    await converged([a!, newcomer, back]);
    expect(a!.mesh.peers.get(2)).toMatchObject({ state: 'connected', attributes: { role: 'new' } });
    a!.mesh.reportFailure(3, 'its queue pair broke');
    await event(a!, 'lost', 3);
    expect(a!.mesh.peers.get(3)!.attributes).toEqual({ role: 'third' });
  });
});

describe('an address that was reused', () => {
  it.each(['by a server of something else', 'by another cluster', 'by another member'])('%s', async (who) => {
    const [a, b] = await grow(2);
    const port = await deadPort();
    const listen = { host: '127.0.0.1', port };
    const child = spawn({ id: 2, join: [a!.address], listen });
    await child.event('up');
    await converged3(a!, b!);
    await child.kill();
    await Promise.all([event(a!, 'lost', 2), event(b!, 'lost', 2)]);
    let third: Live | undefined;
    if (who === 'by a server of something else') {
      const server = createServer((socket) =>
        socket.on('error', () => {}).end('HTTP/1.1 400 Bad Request\r\n\r\n'),
      );
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
      // It has been called at least once.
      await once(server, 'connection');
      server.close();
    } else if (who === 'by another cluster') {
      await enter(2, [], { listen, clusterId: 'another' });
    } else {
      third = await enter(9, [a!], { listen });
    }
    const back = await enter(2, [b!]);
    expect(back.mesh.incarnation).toBe(2);
    await converged([a!, b!, back, ...(third ? [third] : [])]);
    for (const each of [a!, b!]) assertOrdered(each);
  });
});

describe('a roster that names members long gone', () => {
  it('does not keep a newcomer from joining; removed members are forgotten everywhere', async () => {
    const [a, b] = await grow(2);
    const port = await deadPort();
    const gone = Array.from({ length: 40 }, (_, index) => entryAt(100 + index, port));
    a!.core.membership!.learn({ entries: gone, marks: [] });
    const next = await enter(50, [a!]);
    expect(next.mesh.peers.size).toBe(42);
    // The newcomer is connected before the members that it called are.
    await Promise.all([event(a!, 'joined', 50), event(b!, 'joined', 50)]);
    await assertWhole([a!.mesh, b!.mesh, next.mesh]);
    // The digest in heartbeats tells b of them.
    await until(() => b!.mesh.peers.size === 42);
    for (const { id } of gone) b!.mesh.remove(id);
    await converged([a!, b!, next]);
    // An old roster does not bring them back.
    next.core.links.get(0)!.send(rosterFrame(gone));
    await assertWhole([a!.mesh, b!.mesh, next.mesh]);
    expect(a!.mesh.members.length).toBe(3);
  });

  it('a change that one member missed is repaired by the digest in heartbeats', async () => {
    const all = await grow(3);
    const entry = entryAt(7, await deadPort());
    all[2]!.core.membership!.learn({ entries: [entry], marks: [] });
    await until(() => all.every(({ mesh }) => mesh.peers.has(7)));
    all[0]!.core.membership!.roster.retire({ id: 7, incarnation: 1 });
    await until(() => all[1]!.mesh.members.length === 3 && all[2]!.mesh.members.length === 3);
  });
});

/** Each is a turn of the event loop, in which the other member reads what came before. */
const ENOUGH_HEARTBEATS = 3;

describe('the digest of a HELLO', () => {
  it.each([
    ['the calling', 0, 1],
    ['the called', 1, 0],
  ])(
    'a change that %s member missed is repaired on the next connection, without its heartbeats',
    async (_who, id, other) => {
      const knowing = await enter(id, []);
      // It sends no heartbeat, and does not compare those that it gets, while the test lasts.
      const lacking = await enter(other, [knowing], { heartbeatMs: 1_000_000 });
      await converged([knowing, lacking]);
      const before = knowing.core.links.get(other);
      const send = vi.spyOn(Link.prototype, 'send');
      onTestFinished(() => send.mockRestore());
      /** Heartbeats on the next connection: its first one comes after the roster that repairs the other one. */
      const heartbeats = (): number =>
        send.mock.calls.filter(([frame], call) => {
          const link = send.mock.contexts[call];
          const isNext = link !== before && link === knowing.core.links.get(other);
          return isNext && frame[LENGTH_BYTES] === FrameType.HEARTBEAT;
        }).length;
      knowing.core.membership!.learn({ entries: [entryAt(7, await deadPort())], marks: [] });
      knowing.mesh.reportFailure(other, 'its connection is made again');
      await until(() => lacking.mesh.peers.has(7) || heartbeats() >= ENOUGH_HEARTBEATS);
      expect(lacking.mesh.peers.has(7)).toBe(true);
      await assertWhole([knowing.mesh, lacking.mesh]);
    },
  );
});

async function converged3(a: Live, b: Live): Promise<void> {
  await Promise.all([event(a, 'joined', 2), event(b, 'joined', 2)]);
}

function rosterFrame(entries: readonly RosterEntry[]): Buffer {
  const packed = entries.map(({ id, incarnation, instance, host, port, process }) => [
    id,
    incarnation,
    instance,
    host,
    port,
    process.host,
    process.pid,
  ]);
  return encodeFrame(
    FrameType.ROSTER,
    Buffer.from(JSON.stringify({ entries: packed, marks: [], lost: [], isWhole: false })),
  );
}

function helloOf({ options }: Live['core'], { id, incarnation, instance, host, port, process }: RosterEntry) {
  return {
    version: PROTOCOL_VERSION,
    from: id,
    to: 0,
    digest: options.digest,
    instance: Buffer.from(instance, 'hex'),
    maxFrameBytes: 1 << 20,
    levels: options.levels,
    attributes: {},
    live: { incarnation, epoch: 0, host, port, process, roster: '0'.repeat(16), isIntroduction: true },
  };
}
