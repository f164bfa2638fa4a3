/** Three servers without a network, whose slots move. All their parts are real, but for connections, the log and the coordinator. */
import type { MeshConnection } from '@rdmc/mesh';
import type { Random } from '@rdmc/testing';
import { PeerLink } from '../../src/cluster/peer-link.js';
import type { PeerLinks } from '../../src/cluster/peer-links.js';
import { Router } from '../../src/cluster/router.js';
import { SlotTable } from '../../src/cluster/slot-table.js';
import { createCommandTable } from '../../src/commands/table.js';
import { NoLog } from '../../src/log/no-log.js';
import type { CommandService } from '../../src/node/command-service.js';
import { PeerRequests } from '../../src/node/peer-requests.js';
import { Executor } from '../../src/server/executor.js';
import { Keyspace } from '../../src/store/keyspace.js';
import { slotOf } from '../../src/store/slot.js';
import { Store } from '../../src/store/store.js';
import { encodeCommand } from './encode.js';
import { RECEIVER } from './fake-link.js';
import { viewOf } from './manual-server.js';
import { WireEnd } from './wire.js';

const KEYS = ['x', 'y'];
const SLOTS_OF_KEYS = KEYS.map((key) => slotOf(Buffer.from(key), 0, key.length));
const commands = createCommandTable();
const MSET = commands.all.find(({ name }) => name === 'mset')!;

class Server {
  readonly table = new SlotTable();
  readonly executor: Executor;
  /** What the coordinator has told this server, and has not arrived: in order. */
  readonly news: (() => void)[] = [];

  constructor(id: number, ran: (key: string, command: number) => void, onTurnEnd?: () => void) {
    const store = new Store(new Keyspace(), new NoLog());
    this.executor = new Executor(store, { valid: true }, viewOf(this.table, id), onTurnEnd);
    const run = this.executor.run.bind(this.executor);
    this.executor.run = (command, args, ...more) => {
      for (let at = 1; at < args.count; at += 2) ran(args.string(at), Number(args.string(at + 1)));
      run(command, args, ...more);
    };
  }

  hear(): void {
    this.news.shift()?.();
  }
}

/** Server 0 has a client; it and servers 1 and 2 have two slots. */
export class MovingSlots {
  /** Of each key: the commands on it, as they were run, wherever that was. */
  readonly ran = new Map<string, number[]>(KEYS.map((key) => [key, []]));
  sent = 0;
  answered = 0;
  readonly #servers: Server[];
  readonly #router: Router;
  /** The ends of server 0, and those of the others. */
  readonly #ends: [near: WireEnd, far: WireEnd][];
  readonly #owners = [1, 2];
  #last = 0;
  /** Of the hand-over that is under way. */
  #moving: { number: number; slot: number; target: number } | undefined;

  constructor(private readonly random: Random) {
    this.#ends = [1, 2].map(() => [new WireEnd(), new WireEnd()]);
    const ran = (key: string, command: number): void => {
      this.ran.get(key)!.push(command);
    };
    const links = this.#ends.map(([near]) => new PeerLink(near as unknown as MeshConnection));
    const flush = (): void => {
      for (const link of links) link.flush();
    };
    this.#servers = [0, 1, 2].map((id) => new Server(id, ran, id === 0 ? flush : undefined));
    const { table, executor } = this.#servers[0]!;
    const peers = { link: (id: number) => links[id - 1], onLinked() {} } as unknown as PeerLinks;
    this.#router = new Router({ executor, commands, self: 0, table, peers, slotWaitMs: 2 ** 30 });
    for (const [index, [, far]] of this.#ends.entries()) {
      const { table: theirs, executor: runs } = this.#servers[index + 1]!;
      const service = { table: theirs, executor: runs, commands } as CommandService;
      const run = new PeerRequests(service, {} as never).serve(far as unknown as MeshConnection);
      far.receive(0, ({ payload }) => run(payload));
    }
    this.#announce();
    for (const server of this.#servers) server.hear();
  }

  /** Does something that may come next. */
  step(): void {
    const [near, far] = this.random.of(this.#ends);
    this.random.of([
      () => this.#ask(),
      () => this.#ask(),
      () => far.deliver(near),
      () => near.deliver(far),
      () => this.random.of(this.#servers).hear(),
      () => (this.#moving ? this.#settle(this.#moving) : this.#stop()),
    ])();
  }

  /** All that is under way comes to its end. */
  finish(): void {
    if (this.#moving) this.#settle(this.#moving);
    for (const server of this.#servers) server.hear();
    for (const [near, far] of this.#ends) {
      far.deliver(near);
      near.deliver(far);
    }
  }

  close(): void {
    this.#router.close();
  }

  #ask(): void {
    this.sent += 1;
    const both = this.random.below(4) === 0 && new Set(this.#ownersHere()).size === 1;
    const [index] = [this.random.below(KEYS.length)];
    const words = (both ? KEYS : [KEYS[index]!]).flatMap((key) => [key, String(this.sent)]);
    const bytes = encodeCommand([both ? 'MSET' : 'SET', ...words]);
    const done = (reply: Buffer): void => {
      if (reply.toString() !== '+OK\r\n') throw new Error(reply.toString());
      this.answered += 1;
    };
    const slot = SLOTS_OF_KEYS[both ? 0 : index]!;
    const common = { slot, version: 2, receiver: RECEIVER, writes: true, bytes, done } as const;
    this.#router.route(both ? { ...common, slots: SLOTS_OF_KEYS, command: MSET } : common);
  }

  #ownersHere(): number[] {
    return SLOTS_OF_KEYS.map((slot) => this.#servers[0]!.table.owner(slot));
  }

  #stop(): void {
    const slot = this.random.below(KEYS.length);
    const target = this.random.of([0, 1, 2].filter((id) => id !== this.#owners[slot]));
    const source = this.#servers[this.#owners[slot]!]!;
    // Its table may be an older one: it refuses such an order.
    if (source.news.length > 0) return;
    this.#last += 1;
    this.#moving = { number: this.#last, slot, target };
    source.table.stop(this.#last, [rangeOf(slot)]);
  }

  #settle({ number, slot, target }: { number: number; slot: number; target: number }): void {
    this.#moving = undefined;
    const { table, news } = this.#servers[this.#owners[slot]!]!;
    const isMoved = this.random.below(2) === 0;
    this.#last += 1;
    const epoch = this.#last;
    const answer = (): void => {
      if (isMoved) table.moved(number, epoch);
      else {
        table.resume(number);
        // As a source does.
        if (table.epoch > epoch) this.#announce();
      }
    };
    if (isMoved) this.#owners[slot] = target;
    const isFirst = this.random.below(2) === 0;
    if (isFirst) news.push(answer);
    this.#announce();
    if (!isFirst) news.push(answer);
  }

  #announce(): void {
    this.#last += 1;
    const epoch = this.#last;
    const ranges = this.#owners.map((member, index) => {
      const [from, to] = rangeOf(index);
      return { from, to, member };
    });
    for (const { news, table } of this.#servers) news.push(() => table.update(epoch, ranges));
  }
}

function rangeOf(index: number): [from: number, to: number] {
  return [SLOTS_OF_KEYS[index]!, SLOTS_OF_KEYS[index]!];
}
