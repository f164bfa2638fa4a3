import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { encodeCommand } from './encode.js';

/** Begins the reply of a server without a lease. */
const EXPIRED = '-CLUSTERDOWN ERR_RDMC_LEASE_EXPIRED';

/** Bytes to a server and bytes back, as they are. */
export class RawClient {
  #received = '';
  #changed: (() => void) | undefined;
  ended = false;

  private constructor(readonly socket: Socket) {
    socket.on('data', (chunk: Buffer) => {
      this.#received += chunk.toString('latin1');
      this.#changed?.();
    });
    const end = (): void => {
      this.ended = true;
      this.#changed?.();
    };
    socket.on('error', end);
    socket.on('close', end);
  }

  static async connect(port: number): Promise<RawClient> {
    const socket = connect({ host: '127.0.0.1', port });
    await once(socket, 'connect');
    return new RawClient(socket);
  }

  get received(): string {
    return this.#received;
  }

  send(text: string): void {
    this.socket.write(text, 'latin1');
  }

  /** Resolves when what arrived satisfies, or the connection ended. */
  async until(enough: (received: string) => boolean): Promise<string> {
    while (!enough(this.#received) && !this.ended) {
      await new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
    }
    return this.#received;
  }

  /** One reply, whole: a marker that comes after it tells where it ends. */
  async command(...words: readonly string[]): Promise<string> {
    return this.#marked(encodeCommand(words), 1);
  }

  /** The replies to lines of words that are sent at once; a transaction must have ended. */
  async pipeline(lines: readonly string[]): Promise<string> {
    return this.#marked(Buffer.concat(lines.map((line) => encodeCommand(line.split(' ')))), lines.length);
  }

  async #marked(commands: Buffer, count: number): Promise<string> {
    const marker = '$16\r\nend-of-the-reply\r\n';
    this.#received = '';
    this.socket.write(Buffer.concat([commands, encodeCommand(['ECHO', 'end-of-the-reply'])]));
    // A server without a lease refuses reads, and all commands that it ran together with them: the marker too.
    const isRefused = (received: string) => received.split(EXPIRED).length - 1 > count;
    const text = await this.until((received) => received.endsWith(marker) || isRefused(received));
    if (text.endsWith(marker)) return text.slice(0, -marker.length);
    return text.slice(0, text.lastIndexOf(EXPIRED));
  }

  close(): void {
    this.socket.destroy();
  }
}
