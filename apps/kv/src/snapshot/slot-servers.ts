import { Buffer } from 'node:buffer';
import { setTimeout as delay } from 'node:timers/promises';
import type { Connection } from '../client/connection.js';
import type { Reply } from '../client/reply-reader.js';
import { KvError } from '../errors.js';
import { SLOTS, SNAPSHOT_RETRY_MS, SNAPSHOT_WAIT_MS } from '../limits.js';
import type { Endpoint } from '../values.js';
import { type ClusterAccess, isLost, type Placed, placedBy } from './cluster-access.js';

/** A command, and the slot of its key. */
export interface SlotWrite {
  readonly slot: number;
  readonly bytes: Buffer;
}

/** What was not done yet, and why. */
interface Left {
  readonly writes: readonly SlotWrite[];
  readonly reasons: readonly Error[];
}

/** What passes: the same command, again, has the same effect. */
const PASSING = /^(CLUSTERDOWN|TRYAGAIN|UNKNOWN|NOREPLICAS|MOVED) /;
/** A server that redirects its clients: the slot's server has this address. */
const MOVED = /^MOVED (\d+) (.+):(\d+)$/;

/** The servers of a cluster, and the one of each slot: another one when a server says so, or is lost. */
export class SlotServers {
  /** By address. */
  readonly #connections = new Map<string, Promise<Connection>>();
  /** By slot. Undefined: it does not have a server at present, and any server waits for it. */
  readonly #endpoints: (Endpoint | undefined)[] = new Array(SLOTS).fill(undefined);
  #wasLost = false;
  readonly #closed = new AbortController();

  private constructor(
    private readonly access: ClusterAccess,
    private readonly first: Placed,
    private any: Endpoint,
  ) {
    this.#place(first);
  }

  /** Connects to the servers that have slots. @throws KvError ERR_RDMC_KV_SLOT_UNAVAILABLE; as `ClusterAccess.connect` */
  static async connect(access: ClusterAccess): Promise<SlotServers> {
    const first = placedBy(await access.status());
    const endpoints = endpointsOf(first);
    if (endpoints.length === 0)
      throw new KvError('ERR_RDMC_KV_SLOT_UNAVAILABLE', 'no server has slots: see kv admin status');
    const servers = new SlotServers(access, first, endpoints[0]!);
    try {
      for (const endpoint of endpoints) await servers.#connection(endpoint);
      return servers;
    } catch (error) {
      servers.close();
      throw error;
    }
  }

  /** The server that had a slot at the beginning; -1: none. */
  firstOf(slot: number): number {
    return this.first.owners[slot]!;
  }

  /** Asks any server. */
  async command(...words: readonly string[]): Promise<Reply> {
    return (await this.#connection(this.any)).command(...words);
  }

  /**
   * Sends writes until each of them is acknowledged. Those of a slot are done in order: from one that was refused on, all are sent
   * again. Otherwise a hash could get its expiry, which does nothing before the hash is there, and its fields afterwards.
   * @throws KvError ERR_RDMC_KV_RESTORE_REFUSED; the reason of `close`
   */
  async send(writes: readonly SlotWrite[]): Promise<void> {
    const deadline = performance.now() + SNAPSHOT_WAIT_MS;
    let wasMoved = false;
    for (let left = await this.#try(writes); left.writes.length > 0; left = await this.#try(left.writes)) {
      const isOver = performance.now() > deadline;
      const final = left.reasons.find((reason) => isOver || !isPassing(reason));
      if (final !== undefined) throw refused(final);
      const isMoved = left.reasons.every(({ message }) => MOVED.test(message));
      // The server that was named is asked at once. Servers that name each other do not have the newest table yet.
      if (!isMoved || wasMoved) await delay(SNAPSHOT_RETRY_MS);
      wasMoved = isMoved;
      if (this.#wasLost) await this.#placeAgain();
      // The end of a connection looks like the loss of its server.
      this.#closed.signal.throwIfAborted();
    }
  }

  /** Nothing is sent from now on, and no connection is made. */
  close(): void {
    this.#closed.abort();
    for (const connection of this.#connections.values())
      connection.then(
        (open) => open.close(),
        () => {},
      );
  }

  /** Sends each write once, to the server of its slot. */
  async #try(writes: readonly SlotWrite[]): Promise<Left> {
    const groups = new Map<string, SlotWrite[]>();
    for (const write of writes) {
      const address = addressOf(this.#endpointOf(write));
      const group = groups.get(address);
      if (group) group.push(write);
      else groups.set(address, [write]);
    }
    const all = await Promise.all(
      [...groups.values()].map((group) => this.#ask(this.#endpointOf(group[0]!), group)),
    );
    return {
      writes: all.flatMap((left) => left.writes),
      reasons: all.flatMap((left) => left.reasons),
    };
  }

  #endpointOf({ slot }: SlotWrite): Endpoint {
    return this.#endpoints[slot] ?? this.any;
  }

  async #ask(endpoint: Endpoint, group: readonly SlotWrite[]): Promise<Left> {
    const replies = await this.#replies(endpoint, group);
    const writes: SlotWrite[] = [];
    const reasons: Error[] = [];
    const refusedSlots = new Set<number>();
    for (const [index, write] of group.entries()) {
      const reply = replies[index];
      if (reply instanceof Error) {
        reasons.push(reply);
        refusedSlots.add(write.slot);
        this.#follow(reply);
      }
      if (refusedSlots.has(write.slot)) writes.push(write);
    }
    return { writes, reasons };
  }

  /** An error for each write where the server is lost. */
  async #replies(endpoint: Endpoint, group: readonly SlotWrite[]): Promise<readonly Reply[]> {
    try {
      const connection = await this.#connection(endpoint);
      return await connection.batch(Buffer.concat(group.map(({ bytes }) => bytes)), group.length);
    } catch (error) {
      if (!(error instanceof Error && isLost(error))) throw error;
      this.#wasLost = true;
      this.#connections.delete(addressOf(endpoint));
      return group.map(() => error);
    }
  }

  #follow({ message }: Error): void {
    const [, slot, host, port] = MOVED.exec(message) ?? [];
    if (host !== undefined) this.#endpoints[Number(slot)] = { host, port: Number(port) };
  }

  #connection(endpoint: Endpoint): Promise<Connection> {
    const address = addressOf(endpoint);
    const open = this.#connections.get(address) ?? this.access.connect(endpoint);
    this.#connections.set(address, open);
    return open;
  }

  async #placeAgain(): Promise<void> {
    try {
      this.#place(placedBy(await this.access.status()));
      this.#wasLost = false;
    } catch (error) {
      // The server that is asked may be the one that is lost, and come back.
      if (!isLost(error)) throw error;
    }
  }

  #place(placed: Placed): void {
    const { owners, addresses } = placed;
    for (let slot = 0; slot < SLOTS; slot += 1) this.#endpoints[slot] = addresses.get(owners[slot]!);
    this.any = endpointsOf(placed)[0] ?? this.any;
  }
}

/** Of the servers that have slots. */
function endpointsOf({ owners, addresses }: Placed): Endpoint[] {
  return [...addresses].filter(([server]) => owners.includes(server)).map(([, endpoint]) => endpoint);
}

function addressOf({ host, port }: Endpoint): string {
  return `${host}:${port}`;
}

function isPassing(error: Error): boolean {
  return PASSING.test(error.message) || isLost(error);
}

function refused({ message }: Error): KvError {
  return new KvError(
    'ERR_RDMC_KV_RESTORE_REFUSED',
    `a server refused a write: ${message}. A part of the keys was written: FLUSHALL, and restore again`,
  );
}
