import { closedAfterTest } from '@rdmc/testing';
import type { LiveMeshOptions, MemberEvent, Mesh } from '../src/index.js';
import type { LiveCore } from '../src/live/live-core.js';
import { type Internals, joinMesh } from '../src/mesh.js';
import { until } from './helpers.js';

export interface Live {
  readonly id: number;
  readonly mesh: Mesh;
  readonly core: LiveCore;
  /** All events so far, from the first on. */
  readonly events: MemberEvent[];
  /** `host:port`. */
  readonly address: string;
}

/** Options of a test: heartbeats are frequent, so that rosters are repaired soon; nobody counts as silent. */
const QUICK = {
  insecure: true,
  heartbeatMs: 20,
  silenceTimeoutMs: 0,
  timeoutMs: 60_000,
  listen: { host: '127.0.0.1', port: 0 },
};

export interface LiveJoining {
  readonly mesh: Promise<Mesh>;
  readonly core: LiveCore;
}

/** Joins through the given members; through nobody: as the first one. */
export function joining(
  id: number,
  through: readonly (Live | string)[],
  options: Partial<LiveMeshOptions> = {},
  internals: Internals = {},
): LiveJoining {
  const join = through.map((each) => (typeof each === 'string' ? each : each.address));
  let core: LiveCore | undefined;
  const observe = (created: LiveCore): void => {
    core = created;
  };
  const all = { nudgeTickMs: 20, ...internals, observeLive: observe };
  // A key in the options contradicts `insecure`.
  const { insecure, ...rest } = QUICK;
  const quick = 'key' in options ? rest : { ...rest, insecure };
  const mesh = joinMesh({ ...quick, id, join, ...options }, all);
  mesh.catch(() => {});
  if (core !== undefined) closedAfterTest(core);
  return {
    mesh,
    get core() {
      if (core === undefined) throw new Error('options were refused');
      return core;
    },
  };
}

export async function enter(...args: Parameters<typeof joining>): Promise<Live> {
  const { mesh: promise, core } = joining(...args);
  const mesh = await promise;
  const events: MemberEvent[] = [];
  mesh.onMember((event) => events.push(event));
  return { id: mesh.id, mesh, core, events, address: `127.0.0.1:${core.listener.port}` };
}

/** The first member and `count - 1` more, which join through it one after the other. */
export async function grow(count: number, options: Partial<LiveMeshOptions> = {}): Promise<Live[]> {
  const all = [await enter(0, [], options)];
  for (let id = 1; id < count; id += 1) all.push(await enter(id, [all[0]!], options));
  await converged(all);
  return all;
}

/** Waits until each of these is connected to exactly the others, and all have the same roster. */
export async function converged(all: readonly Live[]): Promise<void> {
  const ids = all.map(({ id }) => id).sort((one, other) => one - other);
  await until(() => all.every(({ core }) => core.links.size === all.length - 1));
  await until(() => all.every(({ mesh }) => mesh.members.map(({ id }) => id).join() === ids.join()));
}

/** Waits for an event of a peer. */
export async function event(
  { events }: Live,
  type: MemberEvent['type'],
  member: number,
  incarnation?: number,
): Promise<MemberEvent> {
  const find = () =>
    events.find(
      (each) =>
        each.type === type &&
        each.member === member &&
        (incarnation === undefined || each.incarnation === incarnation),
    );
  await until(() => find() !== undefined);
  return find()!;
}

/** Checks the order of the events of each peer: joined, then lost or left, then a later joined. */
export function assertOrdered({ events }: Live): void {
  const last = new Map<number, MemberEvent>();
  for (const event of events) {
    const before = last.get(event.member);
    last.set(event.member, event);
    const isJoined = event.type === 'joined';
    if (isJoined === (before?.type === 'joined')) throw new Error(`order: ${JSON.stringify(events)}`);
    if (before === undefined) continue;
    const later = event.incarnation - before.incarnation || event.epoch - before.epoch;
    if (isJoined ? later <= 0 : later !== 0) throw new Error(`epochs: ${JSON.stringify(events)}`);
  }
}
