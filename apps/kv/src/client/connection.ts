import type { Buffer } from 'node:buffer';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { KvError } from '../errors.js';
import { encodeCommand } from '../resp/encode.js';
import { type Reply, ReplyReader } from './reply-reader.js';

/** A connection with TLS. */
export interface ClientTls {
  /** The authority of the server's certificate, in PEM; undefined: those of Node.js. */
  readonly ca?: Buffer;
}

interface Waiting {
  missing: number;
  readonly replies: Reply[];
  readonly resolve: (replies: Reply[]) => void;
  readonly reject: (error: Error) => void;
}

/** A client of a server, for the commands of this package: batches of commands, each resolved with its replies. */
export class Connection {
  readonly #reader = new ReplyReader();
  readonly #waiting: Waiting[] = [];

  private constructor(private readonly socket: Socket) {
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      const error = new KvError('ERR_RDMC_KV_MEMBER_LOST', 'the connection to the server ended');
      for (const { reject } of this.#waiting.splice(0)) reject(error);
    });
  }

  /**
   * @param tls undefined: without TLS
   * @param signal ends the attempt
   * @throws the error of the system, or of the certificate's check; AbortError
   */
  static async open(host: string, port: number, tls?: ClientTls, signal?: AbortSignal): Promise<Connection> {
    const socket = tls ? connectTls({ host, port, ...tls }) : connect({ host, port });
    try {
      await once(socket, tls ? 'secureConnect' : 'connect', signal ? { signal } : {});
    } catch (error) {
      socket.destroy();
      throw error;
    }
    return new Connection(socket);
  }

  async command(...words: readonly string[]): Promise<Reply> {
    const reply = await this.ask(...words);
    if (reply instanceof Error) throw reply;
    return reply;
  }

  /** As `command`; an error reply is a result. */
  async ask(...words: readonly string[]): Promise<Reply> {
    const [reply] = await this.batch(encodeCommand(words), 1);
    return reply!;
  }

  /** Sends commands in RESP; resolves with their replies. */
  batch(bytes: Buffer, count: number): Promise<Reply[]> {
    return new Promise((resolve, reject) => {
      if (this.socket.destroyed) {
        reject(new KvError('ERR_RDMC_KV_MEMBER_LOST', 'the connection to the server ended'));
        return;
      }
      this.#waiting.push({ missing: count, replies: [], resolve, reject });
      this.socket.write(bytes);
    });
  }

  close(): void {
    this.socket.destroy();
  }

  #receive(chunk: Buffer): void {
    this.#reader.push(chunk);
    for (let reply = this.#reader.next(); reply !== undefined; reply = this.#reader.next()) {
      const first = this.#waiting[0];
      if (!first) return;
      first.replies.push(reply);
      first.missing -= 1;
      if (first.missing > 0) continue;
      this.#waiting.shift();
      first.resolve(first.replies);
    }
  }
}
