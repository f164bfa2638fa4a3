import type { Socket } from 'node:net';
import { FrameReader, KeyedSockets, type Mesh } from '@rdmc/mesh';
import { PEER_PURPOSE, repliesIn } from '../../src/cluster/peer-frames.js';
import type { Asker } from '../../src/cluster/peer-link.js';
import { PeerLinks } from '../../src/cluster/peer-links.js';
import { PeerPort } from '../../src/cluster/peer-port.js';
import { PeerService } from '../../src/cluster/peer-service.js';
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
import { viewOf } from './manual-server.js';

/** What a mesh of these members is to `Peers`. */
function meshOf(self: number, ports: ReadonlyMap<number, number>): Mesh {
  const members = [...ports.keys()].map((id) => ({ id, host: '127.0.0.1', port: 1 }));
  const peers = new Map([...ports].map(([id, kvPeerPort]) => [id, { attributes: { kvPeerPort } }]));
  return { id: self, members, peers } as unknown as Mesh;
}

/** Member 1 asks, member 2 has all keys, in memory only. */
export class PeerPair implements Asker {
  readonly executor: Executor;
  readonly store = new Store(new Keyspace(), new NoLog());
  readonly accepted: Socket[] = [];
  readonly asking: PeerLinks;
  /** Commands that were run. */
  runs = 0;
  lostRequests = 0;
  #linked: () => void = () => {};
  readonly refused = (request: Request): void => request.done(Buffer.from('-REFUSED\r\n'));

  /** The slots that member 2 says are its own. */
  isOwn: (slot: number) => boolean = () => true;

  private constructor(
    readonly port: PeerPort,
    readonly serving: PeerPort,
  ) {
    this.executor = new Executor(this.store, { valid: true }, viewOf(SlotTable.of(2), 2));
    const run = this.executor.run.bind(this.executor);
    this.executor.run = (...args) => {
      this.runs += 1;
      run(...args);
    };
    const ports = new Map([
      [1, port.port],
      [2, serving.port],
    ]);
    this.asking = new PeerLinks(meshOf(1, ports), port.sockets);
    this.asking.onLinked(() => this.#linked());
  }

  static async start(key?: string): Promise<PeerPair> {
    const [port, serving] = await Promise.all([
      PeerPort.listen('127.0.0.1', key),
      PeerPort.listen('127.0.0.1', key),
    ]);
    const pair = new PeerPair(port, serving);
    const commands = createCommandTable();
    serving.serve((accepted) => {
      new PeerService(accepted, {
        serve: (socket) => {
          pair.accepted.push(socket);
          const sink = new PeerSink(socket, pair.executor, commands, (slot) => pair.isOwn(slot));
          return (payload) => sink.run(payload);
        },
        records: (payload) => {
          if (payload.length < 4) throw new Error('too short');
        },
        sessionEnded() {},
      });
    });
    await pair.asking.connect([2]);
    return pair;
  }

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
          link.send({ slot: 0, version: 2, writes: false, bytes: encodeCommand(words), done }, 1, this);
        }),
    );
    this.asking.flush();
    return Promise.all(replies);
  }

  /** A connection that says what the test says. */
  async stranger(keying: { key?: string; insecure?: true } = {}): Promise<Stranger> {
    const sockets = new KeyedSockets({ ...keying, purpose: PEER_PURPOSE });
    return new Stranger(await sockets.connect({ host: '127.0.0.1', port: this.serving.port }));
  }

  close(): void {
    this.asking.close();
    this.port.close();
    this.serving.close();
  }
}

export class Stranger {
  readonly #reader = new FrameReader(MAX_PEER_FRAME_BYTES);
  #changed: () => void = () => {};
  replies = 0;
  ended = false;

  constructor(readonly socket: Socket) {
    socket.on('error', () => {});
    socket.on('close', () => {
      this.ended = true;
      this.#changed();
    });
  }

  read(): void {
    this.socket.on('data', (chunk: Buffer) => {
      this.#reader.push(chunk);
      for (let frame = this.#reader.next(); frame; frame = this.#reader.next()) {
        this.replies += [...repliesIn(frame.payload)].length;
      }
      this.#changed();
    });
  }

  /** Resolves when so many replies are here, or the connection ended. */
  async until(replies: number): Promise<void> {
    while (this.replies < replies && !this.ended) {
      await new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
    }
  }
}
