import type { Socket } from 'node:net';
import { type Frame, FrameReader } from '@rdmc/mesh';
import { KvError } from '../errors.js';
import { MAX_PEER_FRAME_BYTES, PEER_HELLO_MS } from '../limits.js';
import { PeerFrame, sessionIn } from './peer-frames.js';

/** What other servers send. */
export interface PeerListener {
  /** Makes what runs the requests of one connection; that resolves where they must wait. */
  serve(socket: Socket): (payload: Buffer) => Promise<void> | undefined;
  /** Entries of a dead server's log, on the connection of that session. */
  records(payload: Buffer, session: string): void;
  /** The connection of that session ended. */
  sessionEnded(session: string): void;
}

/** One connection on which another server asks. Frames are done in order; while one waits, the socket is not read. */
export class PeerService {
  readonly #reader = new FrameReader(MAX_PEER_FRAME_BYTES);
  readonly #run: (payload: Buffer) => Promise<void> | undefined;
  readonly #helloTimer: NodeJS.Timeout;
  #session: string | undefined;
  #isWaiting = false;

  constructor(
    private readonly socket: Socket,
    private readonly listener: PeerListener,
  ) {
    this.#run = listener.serve(socket);
    this.#helloTimer = setTimeout(() => socket.destroy(), PEER_HELLO_MS).unref();
    socket.on('data', (chunk: Buffer) => {
      this.#reader.push(chunk);
      this.#drain();
    });
    socket.on('close', () => this.#end());
    socket.resume();
  }

  #end(): void {
    clearTimeout(this.#helloTimer);
    if (this.#session !== undefined) this.listener.sessionEnded(this.#session);
  }

  #drain(): void {
    try {
      while (!this.#isWaiting) {
        const frame = this.#reader.next();
        if (!frame) return;
        this.#take(frame);
      }
    } catch (error) {
      this.socket.destroy(error as Error);
    }
  }

  /** @throws KvError for a frame that no server sends */
  #take({ type, payload }: Frame): void {
    if (type === PeerFrame.HELLO) {
      this.#session ??= sessionIn(payload);
      clearTimeout(this.#helloTimer);
    } else if (this.#session === undefined) throw protocolError('a peer did not introduce itself');
    else if (type === PeerFrame.RECORDS) this.listener.records(payload, this.#session);
    else if (type === PeerFrame.REQUESTS) this.#wait(this.#run(payload));
    else throw protocolError(`a peer sent a frame of the unknown type ${type}`);
  }

  #wait(work: Promise<void> | undefined): void {
    if (!work) return;
    this.#isWaiting = true;
    this.socket.pause();
    work.then(
      () => {
        this.#isWaiting = false;
        this.socket.resume();
        this.#drain();
      },
      (error: unknown) => this.socket.destroy(error as Error),
    );
  }
}

function protocolError(message: string): KvError {
  return new KvError('ERR_RDMC_KV_PROTOCOL', message);
}
