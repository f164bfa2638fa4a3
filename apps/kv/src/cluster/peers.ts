import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Deferred } from '@rdmc/common';
import { FrameReader, KeyedSockets, type Mesh } from '@rdmc/mesh';
import { KvError } from '../errors.js';
import { MAX_PEER_FRAME_BYTES, PEER_HELLO_MS, PEER_REDIAL_MS } from '../limits.js';
import { PEER_PURPOSE, PeerFrame, sessionIn } from './peer-frames.js';
import { type LinkListener, PeerLink } from './peer-link.js';

/** What comes from other servers. */
export interface PeerListener {
  /** Whoever runs a connection's requests; resolves where they must wait. */
  serve(socket: Socket): (payload: Buffer) => Promise<void> | undefined;
  /** Entries of a dead server's log, on the connection of that session. */
  records(payload: Buffer, session: string): void;
  /** A connection ended: nothing more comes of its session. */
  sessionEnded(session: string): void;
}

/** The connections of this server with the others: one to ask each of them, and one on which each asks. */
export class Peers {
  readonly #links = new Map<number, PeerLink>();
  readonly #accepted = new Set<Socket>();
  readonly #sockets: KeyedSockets;
  readonly #closed = new AbortController();
  /** Members that do not come back. */
  readonly #dropped = new Set<number>();
  /** Resolves when this server is ready for others; those that come earlier prove the key and wait. */
  readonly #listener = new Deferred<PeerListener>();

  private constructor(
    private readonly server: Server,
    sockets: KeyedSockets,
  ) {
    this.#sockets = sockets;
    server.on('connection', (raw) => void this.#accept(raw));
  }

  /**
   * Listens; others wait until `start`. The port goes into the mesh's attributes. Without a key, servers use the key of
   * their user. @throws MeshError ERR_RDMC_MESH_WEAK_KEY, ERR_RDMC_MESH_USER_KEY
   */
  static async listen(host: string, key: string | undefined): Promise<Peers> {
    const sockets = new KeyedSockets({ key, purpose: PEER_PURPOSE });
    const server = createServer();
    server.listen({ host, port: 0 });
    await once(server, 'listening');
    return new Peers(server, sockets);
  }

  get port(): number {
    return (this.server.address() as { port: number }).port;
  }

  /** Connects to all; what breaks later is made again. @throws MeshError when another server cannot be reached */
  async start(
    mesh: Mesh,
    servers: readonly number[],
    links: LinkListener,
    listener: PeerListener,
  ): Promise<void> {
    this.#listener.resolve(listener);
    await Promise.all(servers.map((member) => this.#dial(mesh, member, links)));
  }

  link(member: number): PeerLink | undefined {
    const link = this.#links.get(member);
    return link?.isOpen ? link : undefined;
  }

  flush(): void {
    for (const link of this.#links.values()) link.flush();
  }

  /** The member is gone for good. */
  drop(member: number): void {
    this.#dropped.add(member);
    this.#links.get(member)?.close();
  }

  close(): void {
    this.#closed.abort();
    this.server.close();
    for (const link of this.#links.values()) link.close();
    for (const socket of this.#accepted) socket.destroy();
  }

  async #dial(mesh: Mesh, member: number, links: LinkListener): Promise<void> {
    const { host } = mesh.members.find(({ id }) => id === member)!;
    const port = Number(mesh.peers.get(member)?.attributes.kvPeerPort);
    const socket = await this.#sockets.connect({ host, port }, { signal: this.#closed.signal });
    this.#links.set(member, new PeerLink(member, socket, mesh.id, links));
    // Behind the link's own listener: by now it has said what it lost.
    socket.on('close', () => void this.#redial(mesh, member, links));
    if (socket.closed) throw new KvError('ERR_RDMC_KV_MEMBER_LOST', `member ${member} hung up`);
    if (this.#isOver(member)) this.#links.get(member)!.close();
  }

  /** As long as the mesh has the member, its connection can be had again. */
  async #redial(mesh: Mesh, member: number, links: LinkListener): Promise<void> {
    while (!this.#isOver(member)) {
      try {
        await this.#dial(mesh, member, links);
        links.linked();
        return;
      } catch {
        await delay(PEER_REDIAL_MS);
      }
    }
  }

  #isOver(member: number): boolean {
    return this.#closed.signal.aborted || this.#dropped.has(member);
  }

  /** Until the key is proved, `KeyedSockets` bounds number and time of connections; from then on this end does. */
  async #accept(raw: Socket): Promise<void> {
    this.#accepted.add(raw);
    raw.once('close', () => this.#accepted.delete(raw));
    try {
      const socket = await this.#sockets.accept(raw);
      // Only the TLS socket from now on: Node 20 crashes where both are destroyed in one turn.
      this.#accepted.delete(raw);
      this.#accepted.add(socket);
      socket.on('close', () => this.#accepted.delete(socket));
      socket.on('error', () => socket.destroy());
      socket.setNoDelay(true);
      const listener = await this.#listener.promise;
      const strange = setTimeout(() => socket.destroy(), PEER_HELLO_MS).unref();
      socket.once('close', () => clearTimeout(strange));
      receive(socket, listener, () => clearTimeout(strange));
    } catch {
      raw.destroy();
    }
  }
}

/** Frames are done in order; while one waits, the socket is not read. */
function receive(socket: Socket, listener: PeerListener, onHello: () => void): void {
  const reader = new FrameReader(MAX_PEER_FRAME_BYTES);
  const run = listener.serve(socket);
  let session: string | undefined;
  let isWaiting = false;
  const drain = (): void => {
    try {
      for (let frame = isWaiting ? undefined : reader.next(); frame; frame = reader.next()) {
        if (frame.type === PeerFrame.HELLO) {
          session ??= sessionIn(frame.payload);
          onHello();
        } else if (session === undefined)
          throw new KvError('ERR_RDMC_KV_PROTOCOL', 'a peer did not introduce itself');
        else if (frame.type === PeerFrame.RECORDS) listener.records(frame.payload, session);
        else if (frame.type === PeerFrame.REQUESTS) {
          const wait = run(frame.payload);
          if (!wait) continue;
          isWaiting = true;
          socket.pause();
          wait.then(
            () => {
              isWaiting = false;
              socket.resume();
              drain();
            },
            (error: unknown) => socket.destroy(error as Error),
          );
          return;
        } else throw new KvError('ERR_RDMC_KV_PROTOCOL', `frames of type ${frame.type} are none of ours`);
      }
    } catch (error) {
      socket.destroy(error as Error);
    }
  };
  socket.on('data', (chunk: Buffer) => {
    reader.push(chunk);
    drain();
  });
  socket.on('close', () => {
    if (session !== undefined) listener.sessionEnded(session);
  });
  socket.resume();
}
