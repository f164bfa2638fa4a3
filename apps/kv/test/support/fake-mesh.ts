import { type Subscription, subscription, within } from '@rdmc/common';
import { readShape } from '@rdmc/common/shapes';
import type { Mesh, RequestOptions } from '@rdmc/mesh';
import type { Coordinator, LevelStore, LogRecord } from '@rdmc/tailwind/coordinator';
import {
  abandonMessage,
  reachMessage,
  resetMessage,
  type ServerProcess,
  Topic,
  tableMessage,
  takeoverMessage,
} from '../../src/cluster/messages.js';
import { Placement } from '../../src/cluster/placement.js';
import type { PlacementEvents } from '../../src/cluster/placement-events.js';

/** A mesh with these servers, on which the test is every other member. */
export class FakeMesh {
  readonly id = 0;
  readonly incarnation = 1;
  readonly peers = new Map<number, { id: number; state: string; incarnation: number }>();
  /** Whether a server is connected with the process of another one; undefined: it does not answer. */
  reaches: (witness: number, server: ServerProcess) => boolean | undefined = (_, { member, incarnation }) =>
    this.#processes.get(member) === incarnation;
  /** Requests which processes a server reaches. */
  asked = 0;
  /** The incarnations of the processes that run. */
  readonly #processes = new Map<number, number>();
  readonly #handlers = new Map<string, (from: number, body: unknown) => unknown>();
  #failed: (failure: { member: number; reason: string }) => void = () => {};
  /** Who was asked to take a log over. */
  readonly leaders: number[] = [];
  /** Who was asked to forget which attempt, and its slots. */
  readonly abandoned: { member: number; takeover: number; ranges: readonly [number, number][] }[] = [];
  /** The last version of each server's log. */
  readonly floors = new Map<number, number>();
  onTakeover: (body: unknown) => void = () => {};
  /** Who was asked to hand slots over. */
  readonly sources: number[] = [];
  /** Delays the answers of servers that are asked to forget something. */
  forgetting: (member: number) => Promise<void> = async () => {};
  takeover: (leader: number, takeover: number) => Promise<unknown> = async () => ({
    entries: 0,
    milliseconds: 0,
  });

  constructor(ids: readonly number[]) {
    for (const id of ids) this.#connect(id, 1);
  }
  onRequest(topic: string, handler: (from: number, body: unknown) => unknown): Subscription {
    this.#handlers.set(topic, handler);
    return subscription(() => {});
  }
  onFailure(failed: (failure: { member: number; reason: string }) => void): Subscription {
    this.#failed = failed;
    return subscription(() => {});
  }
  onLeave(): Subscription {
    return subscription(() => {});
  }
  broadcast(_: string, body: unknown): void {
    this.told.push(body);
  }
  send(member: number, _: string, body: unknown): void {
    this.toldLate.push([member, body]);
  }
  request(member: number, topic: string, body: unknown, { signal }: RequestOptions = {}): Promise<unknown> {
    return within(this.#carryOut(member, topic, body), { signal });
  }
  async #carryOut(member: number, topic: string, body: unknown): Promise<unknown> {
    if (topic === Topic.REACH) return this.#answer(member, body);
    if (topic === Topic.ABANDON) this.abandoned.push({ member, ...readShape(abandonMessage, body) });
    if (topic === Topic.RESET) this.reset.push({ member, ...readShape(resetMessage, body) });
    if (topic === Topic.ABANDON || topic === Topic.RESET) await this.forgetting(member);
    if (topic === Topic.FLOOR) return { floor: this.floors.get(member) ?? 0 };
    if (topic === Topic.HAND_OVER) this.sources.push(member);
    if (topic !== Topic.TAKEOVER) return null;
    this.leaders.push(member);
    this.onTakeover(body);
    return this.takeover(member, readShape(takeoverMessage, body).takeover);
  }
  /** What was told to all. */
  readonly told: unknown[] = [];
  /** What was told to one server that came later. */
  readonly toldLate: [member: number, body: unknown][] = [];
  /** Who was asked to drop what earlier runs had left. */
  readonly reset: { member: number; below: number; ranges: readonly [number, number][] }[] = [];
  /** As a leader that has the log's recovery for itself. */
  async plan(leader: number, takeover: number): Promise<void> {
    await this.#handlers.get(Topic.PLAN)!(leader, { takeover });
  }
  async register(id: number): Promise<void> {
    await this.#handlers.get(Topic.REGISTER)!(id, { logId: String(id) });
  }
  /** As a server that was asked by `kv admin`. */
  async order(body: unknown): Promise<unknown> {
    return this.#handlers.get(Topic.MANAGE)!(1, body);
  }
  /** As a source that asks what has become of a hand-over. */
  async settle(from: number, body: unknown): Promise<unknown> {
    return this.#handlers.get(Topic.SETTLE)!(from, body);
  }
  /** A server has ended, and its connection. */
  lose(id: number): void {
    this.end(id);
    this.cut(id);
  }
  /** A server that is cut off has ended. */
  end(id: number): void {
    this.#processes.delete(id);
  }
  /** The connection with a server ends; its process runs. */
  cut(id: number): void {
    const { incarnation } = this.peers.get(id)!;
    this.peers.set(id, { id, state: 'failed', incarnation });
    this.#failed({ member: id, reason: 'lost' });
  }
  /** The connection is made again. */
  heal(id: number): void {
    this.#connect(id, this.#processes.get(id)!);
  }
  /** The process of a server has ended, and another one is here. */
  replace(id: number): void {
    const { incarnation } = this.peers.get(id)!;
    this.lose(id);
    this.#connect(id, incarnation + 1);
  }
  #connect(id: number, incarnation: number): void {
    this.#processes.set(id, incarnation);
    this.peers.set(id, { id, state: 'connected', incarnation });
  }
  #answer(witness: number, body: unknown): unknown {
    const { processes } = readShape(reachMessage, body);
    this.asked += 1;
    const reached = processes.map((server) => this.reaches(witness, server));
    if (reached.includes(undefined))
      throw Object.assign(new Error('late'), { code: 'ERR_RDMC_MESH_REQUEST_TIMEOUT' });
    return { reached };
  }
}

/** The coordinator's store, in memory. */
export class FakeStore {
  readonly level = 1;
  readonly values = new Map<string, { value: string; revision: number }>();
  failures = 0;
  async get(key: string) {
    if (this.failures > 0) {
      this.failures -= 1;
      throw Object.assign(new Error('out of reach'), { code: 'ERR_RDMC_STATE_UNREACHABLE' });
    }
    return this.values.get(key);
  }
  async put(key: string, value: string, revision: number) {
    this.values.set(key, { value, revision: revision + 1 });
    return revision + 1;
  }
  async close() {}
  async list(prefix: string) {
    return new Map([...this.values].filter(([key]) => key.startsWith(prefix)));
  }
}

/** The record of a log, which has its server's number. */
export const record = (id: number, state: string): LogRecord =>
  ({ logId: BigInt(id), owner: id, ownerIncarnation: 1, state }) as unknown as LogRecord;

export const NEVER_MS = 2 ** 31 - 1;

interface Waits {
  readonly startMs?: number;
  readonly returnMs?: number;
  /** Delays the coordinator's answers. */
  readonly beforeLogs?: () => Promise<void>;
}

/** A run of the coordinator. */
export function start(
  mesh: FakeMesh,
  store: FakeStore,
  records: LogRecord[],
  events: PlacementEvents,
  { beforeLogs = async () => {}, ...waits }: Waits = {},
): Placement {
  const logs = async (): Promise<LogRecord[]> => {
    await beforeLogs();
    return records;
  };
  const coordinator = { logs, channel: mesh } as unknown as Coordinator;
  const place = { mesh: mesh as unknown as Mesh, coordinator, store: store as unknown as LevelStore };
  const times = { startMs: NEVER_MS, returnMs: NEVER_MS, ...waits };
  return new Placement({ ...place, servers: [...mesh.peers.keys()], ...times }, events);
}

/** A run of a coordinator, until it serves, over servers 1 to 3 that have had their slots in an earlier run. */
export async function firstRun(store: FakeStore, records: LogRecord[]): Promise<FakeMesh> {
  const mesh = new FakeMesh([1, 2, 3]);
  let placement!: Placement;
  await new Promise<void>((serving) => {
    placement = start(mesh, store, records, { serving: () => serving() });
    for (const id of [1, 2, 3]) void mesh.register(id);
  });
  await placement.close();
  return mesh;
}

/** The numbers of all tables that were told. */
export const epochsOf = (mesh: FakeMesh): number[] =>
  mesh.told.map((body) => readShape(tableMessage, body).epoch);

/** Servers from 1 on with logs, which no run of a coordinator has seen. */
export function newCluster(servers: number) {
  const ids = Array.from({ length: servers }, (_, index) => index + 1);
  return {
    mesh: new FakeMesh(ids),
    store: new FakeStore(),
    records: ids.map((id) => record(id, 'live')),
  };
}

/** Servers 1 to 3, which have had their slots in an earlier run. */
export async function formerCluster() {
  const { mesh, store, records } = newCluster(3);
  await firstRun(store, records);
  return { mesh, store, records };
}
