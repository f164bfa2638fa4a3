import type { Socket } from 'node:net';
import { SilenceTimer } from '@rdmc/common';
import { HANDSHAKE_TICK_MS, HANDSHAKE_TICKS, MAX_MEMBERS } from '../constants.js';
import { type MeshError, messageOf, protocolError } from '../errors.js';
import { clipText, encodeFrame, FrameType } from '../frames.js';
import { encodeReject } from '../hello.js';
import type { Introduced } from '../link.js';
import type { MeshLogger } from '../options.js';
import { nextFrame } from '../transport.js';
import { decodeIntroduction, encodeRoster, type Introduction, type RosterNews } from './frames.js';

export interface IntroductionsContext {
  readonly version: number;
  readonly logger: MeshLogger;
  roster(): RosterNews;
  /** The version of the roster. */
  rosterVersion(): number;
  /** Why the process is not admitted; undefined: it is. */
  introduce(introduction: Introduction): MeshError | undefined;
}

/** The called end of introductions. */
export class Introductions {
  readonly #context: IntroductionsContext;
  readonly #sockets = new Set<Socket>();
  /** By instance, the version of the roster that a newcomer has got. Later changes follow when it is connected. */
  readonly #given = new Map<string, number>();

  constructor(context: IntroductionsContext) {
    this.#context = context;
  }

  async accept(introduced: Introduced): Promise<void> {
    const { socket, hello } = introduced;
    this.#sockets.add(socket);
    const limiter = new SilenceTimer(HANDSHAKE_TICK_MS, HANDSHAKE_TICKS * HANDSHAKE_TICK_MS, () =>
      socket.destroy(),
    );
    try {
      const answer = await this.#serve(introduced);
      socket.end(answer);
      socket.once('finish', () => socket.destroySoon());
    } catch (error) {
      socket.destroy();
      const { logger } = this.#context;
      logger.debug?.({ member: hello.from }, `mesh: an introduction ended: ${messageOf(error)}`);
    } finally {
      limiter.stop();
      this.#sockets.delete(socket);
    }
  }

  /** The version of the roster that a newcomer got here; undefined: another member introduced it. */
  takeVersion(instance: string): number | undefined {
    const version = this.#given.get(instance);
    this.#given.delete(instance);
    return version;
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#given.clear();
  }

  /** The last frame for the caller. */
  async #serve({ socket, reader, hello }: Introduced): Promise<Buffer> {
    const { version } = this.#context;
    if (hello.live?.incarnation === 0) {
      this.#give(hello.instance.toString('hex'));
      socket.write(encodeRoster(this.#context.roster()));
    }
    const frame = await nextFrame(socket, reader);
    if (frame.type !== FrameType.INTRODUCE) {
      throw protocolError(`frame type ${frame.type} came instead of INTRODUCE`);
    }
    const introduction = decodeIntroduction(frame.payload);
    const { id, instance } = introduction.entry;
    if (id !== hello.from || instance !== hello.instance.toString('hex')) {
      throw protocolError(`member ${hello.from} introduces another process than itself`);
    }
    const refusal = this.#context.introduce(introduction);
    if (refusal === undefined) return encodeFrame(FrameType.ADMIT);
    const { code, message, holder } = refusal;
    return encodeReject({ version, code, message: clipText(message), holder });
  }

  #give(instance: string): void {
    this.#given.delete(instance);
    this.#given.set(instance, this.#context.rosterVersion());
    const [oldest] = this.#given.keys();
    if (this.#given.size > MAX_MEMBERS) this.#given.delete(oldest!);
  }
}
