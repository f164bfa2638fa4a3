import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { closedAfterTest } from '@rdmc/testing';
import { guarded } from '../src/transport.js';

/** Where the caller's id is in the bytes of a HELLO: behind the head of the frame. */
const FROM_AT = 5 + 12;

/** The network in front of one member, for connections without a key: it cuts and refuses callers by their id. */
export class Gate {
  readonly #pairs = new Map<Socket, number>();
  #isOpenFor: (from: number) => boolean = () => true;

  private constructor(
    readonly server: Server,
    private readonly target: number,
  ) {
    server.on('connection', (socket) => this.#accept(guarded(socket)));
  }

  /** @param target the port behind the gate */
  static async open(target: number): Promise<Gate> {
    const server = createServer();
    server.listen({ host: '127.0.0.1', port: 0 });
    await once(server, 'listening');
    return closedAfterTest(new Gate(server, target));
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** From now on only these callers pass; connections of others end. */
  only(isOpenFor: (from: number) => boolean): void {
    this.#isOpenFor = isOpenFor;
    for (const [socket, from] of this.#pairs) if (!isOpenFor(from)) socket.destroy();
  }

  close(): Promise<void> {
    for (const socket of this.#pairs.keys()) socket.destroy();
    return new Promise((resolve) => this.server.close(() => resolve()));
  }

  #accept(socket: Socket): void {
    socket.once('data', (hello: Buffer) => {
      const from = hello.length < FROM_AT + 4 ? -1 : hello.readUInt32LE(FROM_AT);
      if (!this.#isOpenFor(from)) {
        socket.destroy();
        return;
      }
      const behind = guarded(connect({ host: '127.0.0.1', port: this.target }));
      this.#pairs.set(socket, from);
      socket.once('close', () => {
        this.#pairs.delete(socket);
        behind.destroy();
      });
      behind.once('close', () => socket.destroy());
      behind.write(hello);
      socket.pipe(behind);
      behind.pipe(socket);
    });
  }
}
