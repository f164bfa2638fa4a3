import { Mesh, type MeshConnection } from '@rdmc/mesh';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { PEER_PURPOSE, repliesIn } from '../../src/cluster/peer-frames.js';
import type { Asker } from '../../src/cluster/peer-link.js';
import { PeerLinks } from '../../src/cluster/peer-links.js';
import { servePeer } from '../../src/cluster/peer-service.js';
import { PeerSink } from '../../src/cluster/peer-sink.js';
import type { Request } from '../../src/cluster/request.js';
import { SlotTable } from '../../src/cluster/slot-table.js';
import { createCommandTable } from '../../src/commands/table.js';
import { MAX_PEER_FRAME_BYTES } from '../../src/limits.js';
import { NoLog } from '../../src/log/no-log.js';
import { Executor } from '../../src/server/executor.js';
import { Keyspace } from '../../src/store/keyspace.js';
import { Store } from '../../src/store/store.js';
import { encodeCommand } from './encode.js';
import { RECEIVER } from './fake-link.js';
import { viewOf } from './manual-server.js';

/** Member 1 asks, member 2 has all keys, in memory only. */
export class PeerPair implements Asker {
  readonly executor: Executor;
  readonly store = new Store(new Keyspace(), new NoLog());
  /** Those that member 2 has taken. */
  readonly accepted: MeshConnection[] = [];
  readonly asking: PeerLinks;
  /** Commands that were run. */
  runs = 0;
  lostRequests = 0;
  #linked: () => void = () => {};
  readonly refused = (request: Request): void => request.done(Buffer.from('-REFUSED\r\n'));

  /** The slots that member 2 says are its own. */
  isOwn: (slot: number) => boolean = () => true;
  /** Resolves when member 2 has the slot table of member 1; undefined: it has. */
  table: Promise<void> | undefined;

  private constructor(
    readonly meshes: readonly [Mesh, Mesh],
    /** Where member 2 listens. */
    readonly port: number,
  ) {
    this.executor = new Executor(this.store, { valid: true }, viewOf(SlotTable.of(2), 2));
    const run = this.executor.run.bind(this.executor);
    this.executor.run = (...args) => {
      this.runs += 1;
      run(...args);
    };
    this.asking = new PeerLinks(meshes[0]);
    this.asking.onLinked(() => this.#linked());
  }

  static async start(key?: string): Promise<PeerPair> {
    const reserved = await reserveLoopbackPorts(2);
    const members = reserved.map(({ host, port }, index) => ({ id: index + 1, host, port }));
    const join = (index: number): Promise<Mesh> =>
      Mesh.join({
        id: index + 1,
        members,
        server: reserved[index]!.server,
        // Some tests keep this process busy for seconds, on a busy machine for longer.
        silenceTimeoutMs: 0,
        ...(key !== undefined && { key }),
      });
    const pair = new PeerPair(await Promise.all([join(0), join(1)]), members[1]!.port);
    const commands = createCommandTable();
    pair.meshes[1].onConnection(PEER_PURPOSE, (accepted) =>
      servePeer(accepted, {
        serve: (connection) => {
          pair.accepted.push(connection);
          const sink = new PeerSink(connection, pair.executor, commands, (slot) => pair.isOwn(slot));
          connection.signal.addEventListener('abort', () => sink.close());
          return (payload) => sink.run(payload, pair.table);
        },
        handOver() {},
        sessionEnded() {},
      }),
    );
    await pair.asking.reach(2);
    return pair;
  }

  answered(): void {}

  lost(_request: Request): void {
    this.lostRequests += 1;
  }

  /** Resolves when the connection was made again. */
  linkedAgain(): Promise<void> {
    return new Promise((resolve) => {
      this.#linked = resolve;
    });
  }

  /** Asks in one turn. */
  ask(commands: readonly (readonly string[])[]): Promise<string[]> {
    const link = this.asking.link(2)!;
    const replies = commands.map(
      (words) =>
        new Promise<string>((resolve) => {
          const done = (reply: Buffer): void => resolve(reply.toString('latin1'));
          const bytes = encodeCommand(words);
          link.send({ slot: 0, version: 2, receiver: RECEIVER, writes: false, bytes, done }, 1, this);
        }),
    );
    this.asking.flush();
    return Promise.all(replies);
  }

  /** A connection on which member 1 says what the test says. */
  async faulty(): Promise<FaultyPeer> {
    return new FaultyPeer(await this.meshes[0].openConnection(2, PEER_PURPOSE));
  }

  async close(): Promise<void> {
    this.asking.close();
    await Promise.all(this.meshes.map((mesh) => mesh.close()));
  }
}

export class FaultyPeer {
  #changed: () => void = () => {};
  replies = 0;

  constructor(readonly connection: MeshConnection) {}

  read(): void {
    this.connection.receive(MAX_PEER_FRAME_BYTES, ({ payload }) => {
      this.replies += [...repliesIn(payload)].length;
      this.#changed();
    });
  }

  /** Resolves when so many replies are here. */
  async until(replies: number): Promise<void> {
    while (this.replies < replies) {
      await new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
    }
  }

  /** Resolves when the other end has ended the connection. */
  async ended(): Promise<void> {
    await this.connection.closed;
  }
}
