import { SilenceTimer } from '@rdmc/common';
import { HANDSHAKE_TICK_MS, HANDSHAKE_TICKS } from '../constants.js';
import { Dialler } from '../dialler.js';
import { isCodeOf, MeshError, meshErrors, protocolError } from '../errors.js';
import { type Frame, FrameType } from '../frames.js';
import { decodeReject, type Hello } from '../hello.js';
import type { Introduced } from '../link.js';
import type { Member } from '../member.js';
import { describeMember } from '../members.js';
import type { Security } from '../security.js';
import { nextFrame } from '../transport.js';
import { decodeRoster, encodeIntroduction, type Introduction, type RosterNews } from './frames.js';

const ONE_ATTEMPT = { finalCodes: new Set<string>(), pauseMaxMs: 0 };

export interface CallOptions {
  readonly to: Member;
  readonly hello: Hello;
  readonly security: Security | undefined;
  readonly maxFrameBytes: number;
  /** Ends the call. */
  readonly signal: AbortSignal;
  /** Why the answer is refused. */
  readonly judge?: (answer: Hello) => MeshError | undefined;
}

/** The calling end of an introduction. */
export class IntroductionCall {
  /** Ends a call whose other end does not answer. */
  readonly #limiter: SilenceTimer;
  readonly #onAbort = (): void => this.close();

  private constructor(
    private readonly introduced: Introduced,
    private readonly options: CallOptions,
  ) {
    introduced.reader.limitBytes = options.maxFrameBytes;
    const limitMs = HANDSHAKE_TICKS * HANDSHAKE_TICK_MS;
    this.#limiter = new SilenceTimer(HANDSHAKE_TICK_MS, limitMs, () => this.close());
    options.signal.addEventListener('abort', this.#onAbort);
  }

  /** One attempt. @throws MeshError ERR_RDMC_MESH_UNREACHABLE, or the code of a refusal */
  static dial(options: CallOptions): Promise<IntroductionCall> {
    const { to, hello, security, signal, judge } = options;
    return new Promise((resolve, reject) => {
      const settle = (act: () => void): void => {
        dialler.stop();
        signal.removeEventListener('abort', onAbort);
        act();
      };
      const fail = (error: unknown): void => settle(() => reject(error));
      const onAbort = (): void => fail(signal.reason);
      const events = {
        connected: (introduced: Introduced) =>
          settle(() => resolve(new IntroductionCall(introduced, options))),
        attemptFailed: (_member: Member, error: MeshError) => fail(error),
        refused: (_member: Member, error: MeshError) => fail(error),
        ...(judge && { judge }),
      };
      const dialler = new Dialler(to, hello, security, events, ONE_ATTEMPT);
      signal.addEventListener('abort', onAbort);
      if (signal.aborted) onAbort();
      else dialler.start();
    });
  }

  /** The HELLO of the other end. */
  get answer(): Hello {
    return this.introduced.hello;
  }

  /** What the other end knows, where the caller's HELLO had incarnation 0. */
  async roster(): Promise<RosterNews> {
    const frame = await this.#next(FrameType.ROSTER);
    return decodeRoster(frame.payload);
  }

  /** Resolves when the caller is admitted. @throws MeshError with the code of the refusal */
  async introduce(introduction: Introduction): Promise<void> {
    this.introduced.socket.write(encodeIntroduction(introduction));
    await this.#next(FrameType.ADMIT);
  }

  close(): void {
    this.#limiter.stop();
    this.options.signal.removeEventListener('abort', this.#onAbort);
    this.introduced.socket.destroy();
  }

  async #next(type: number): Promise<Frame> {
    const { socket, reader } = this.introduced;
    const frame = await nextFrame(socket, reader);
    if (frame.type === FrameType.REJECT) throw this.#refusal(frame.payload);
    if (frame.type === type) return frame;
    throw protocolError(`frame type ${frame.type} came in an introduction instead of ${type}`);
  }

  #refusal(payload: Buffer): MeshError {
    const { code, message, holder } = decodeReject(payload);
    const known = isCodeOf(meshErrors, code) ? code : 'ERR_RDMC_MESH_PROTOCOL';
    const text = `${describeMember(this.options.to)} refused: ${message}`;
    return new MeshError(known, text, { memberId: this.options.hello.from, holder });
  }
}
