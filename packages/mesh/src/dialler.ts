import type { Socket } from 'node:net';
import { SilenceTimer } from '@rdmc/common';
import {
  ANY_MEMBER,
  CONNECT_TICKS,
  DIAL_BACKOFF_FACTOR,
  DIAL_BACKOFF_FIRST_MS,
  DIAL_BACKOFF_MAX_MS,
  HANDSHAKE_TICK_MS,
  HANDSHAKE_TICKS,
} from './constants.js';
import { isCodeOf, MeshError, type MeshErrorCode, meshErrors, messageOf, protocolError } from './errors.js';
import { FrameReader } from './frame-reader.js';
import { encodeFrame, FrameType } from './frames.js';
import {
  decodeHello,
  decodeReject,
  encodeHello,
  encodeReject,
  type Hello,
  MAX_HELLO_FRAME_BYTES,
} from './hello.js';
import { checkLevels, describeVersions } from './hello-check.js';
import { SAME_KEY_ADVICE } from './key.js';
import type { Introduced } from './link.js';
import type { Member } from './member.js';
import { describeMember } from './members.js';
import { provenClient, type Security } from './security.js';
import {
  looksLikeTls,
  nextFrame,
  openSocket,
  socketEvent,
  TLS_HEAD_BYTES,
  unreachable,
} from './transport.js';

export interface DiallerRules {
  /** Refusals after which another attempt cannot succeed. */
  readonly finalCodes: ReadonlySet<string>;
  /** The longest pause between two attempts. */
  readonly pauseMaxMs: number;
}

/** Refusals after which another attempt cannot succeed, where the list of members is fixed. */
const FINAL_CODES: ReadonlySet<string> = new Set<MeshErrorCode>([
  'ERR_RDMC_MESH_VERSION',
  'ERR_RDMC_MESH_MEMBERS_DIFFER',
  'ERR_RDMC_MESH_WRONG_MEMBER',
  'ERR_RDMC_MESH_DUPLICATE_MEMBER',
  'ERR_RDMC_MESH_WRONG_KEY',
]);

export interface DiallerEvents {
  connected(introduced: Introduced): void;
  /** Why this member refuses the answer, and tells the other end; undefined: it does not. */
  judge?(hello: Hello): MeshError | undefined;
  /** Another attempt follows. */
  attemptFailed(member: Member, error: MeshError): void;
  /** No attempt follows. */
  refused(member: Member, error: MeshError): void;
}

/** Connects to one member, in attempts that repeat until one succeeds or the member refuses for good. */
export class Dialler {
  readonly #member: Member;
  readonly #hello: Hello;
  readonly #security: Security | undefined;
  readonly #events: DiallerEvents;
  #socket: Socket | undefined;
  #timer: NodeJS.Timeout | undefined;
  #limiter: SilenceTimer | undefined;
  #running = false;
  readonly #rules: DiallerRules;

  constructor(
    member: Member,
    hello: Hello,
    security: Security | undefined,
    events: DiallerEvents,
    rules: DiallerRules = { finalCodes: FINAL_CODES, pauseMaxMs: DIAL_BACKOFF_MAX_MS },
  ) {
    this.#rules = rules;
    this.#member = member;
    this.#hello = hello;
    this.#security = security;
    this.#events = events;
  }

  start(): void {
    if (this.#running) return;
    this.#running = true;
    this.#attempt(DIAL_BACKOFF_FIRST_MS);
  }

  stop(): void {
    this.#running = false;
    clearTimeout(this.#timer);
    this.#socket?.destroy();
    this.#socket = undefined;
  }

  async #attempt(backoffMs: number): Promise<void> {
    this.#limit(CONNECT_TICKS);
    try {
      const introduced = await this.#dial();
      if (!this.#running) return;
      this.#running = false;
      this.#socket = undefined;
      this.#events.connected(introduced);
    } catch (error) {
      this.#socket?.destroy();
      if (this.#running) this.#failed(asMeshError(error, this.#member), backoffMs);
    } finally {
      this.#limiter?.stop();
    }
  }

  /** Bounds the time of the attempt's next step. */
  #limit(ticks: number): void {
    this.#limiter?.stop();
    const limitMs = ticks * HANDSHAKE_TICK_MS;
    this.#limiter = new SilenceTimer(HANDSHAKE_TICK_MS, limitMs, () => this.#socket?.destroy());
  }

  #failed(error: MeshError, backoffMs: number): void {
    if (this.#rules.finalCodes.has(error.code)) {
      this.#running = false;
      this.#events.refused(this.#member, error);
      return;
    }
    this.#events.attemptFailed(this.#member, error);
    if (!this.#running) return;
    // Jitter keeps many members from connecting to a late one at the same moments.
    const delayMs = backoffMs * (0.75 + Math.random() / 2);
    const nextMs = Math.min(backoffMs * DIAL_BACKOFF_FACTOR, this.#rules.pauseMaxMs);
    this.#timer = setTimeout(() => this.#attempt(nextMs), delayMs);
  }

  async #dial(): Promise<Introduced> {
    const raw = openSocket(this.#member);
    this.#socket = raw;
    await socketEvent(raw, 'connect');
    this.#limit(HANDSHAKE_TICKS);
    const socket = await this.#secured(raw);
    const reader = new FrameReader(MAX_HELLO_FRAME_BYTES);
    socket.write(encodeHello(this.#hello));
    const hello = await this.#answer(socket, reader);
    const refused = this.#events.judge?.(hello);
    if (refused !== undefined) {
      const { code, message, holder } = refused;
      // The other end has to learn it, so the connection is not destroyed with the attempt.
      this.#socket = undefined;
      socket.end(encodeReject({ version: this.#hello.version, code, message, holder }));
      socket.once('finish', () => socket.destroySoon());
      throw unreachable(message, refused);
    }
    socket.write(encodeFrame(FrameType.CONFIRM));
    return { socket, reader, hello };
  }

  async #secured(raw: Socket): Promise<Socket> {
    if (this.#security === undefined) return raw;
    const secured = this.#security.client(raw);
    this.#socket = secured;
    const { keyName } = this.#security;
    await provenClient(secured, (how, cause) => this.#wrongKey(`${how}; this member uses ${keyName}`, cause));
    return secured;
  }

  async #answer(socket: Socket, reader: FrameReader): Promise<Hello> {
    const frame = await nextFrame(socket, reader).catch((error: unknown) => {
      // Without a key, an answer in TLS is the alert of a member that uses a key.
      const tls = this.#security === undefined && looksLikeTls(reader.peek(TLS_HEAD_BYTES));
      throw tls ? this.#wrongKey('it uses a key, and this member does not', error) : error;
    });
    if (frame.type === FrameType.REJECT) throw this.#refusal(frame.payload);
    if (frame.type !== FrameType.HELLO)
      throw protocolError(`frame type ${frame.type} came instead of a HELLO`);
    const hello = decodeHello(frame.payload, this.#hello.version);
    if (hello.from === undefined) throw this.#otherVersion(hello.version);
    const expected =
      hello.connection?.id === this.#hello.connection?.id &&
      (this.#member.id === ANY_MEMBER || hello.from === this.#member.id) &&
      hello.to === this.#hello.from &&
      hello.digest.equals(this.#hello.digest);
    const foreign = checkLevels(hello, describeMember(this.#member), this.#hello);
    if (foreign !== undefined) throw foreign;
    if (!expected)
      throw protocolError(`the HELLO of ${describeMember(this.#member)} does not answer this member's HELLO`);
    return hello;
  }

  #refusal(payload: Buffer): MeshError {
    const { version, code, message, holder } = decodeReject(payload);
    if (version !== this.#hello.version) return this.#otherVersion(version);
    const known = isCodeOf(meshErrors, code) ? code : 'ERR_RDMC_MESH_PROTOCOL';
    return new MeshError(known, `${describeMember(this.#member)} refused: ${message}`, {
      ...aboutMember(this.#member),
      holder,
    });
  }

  #wrongKey(how: string, cause?: unknown): MeshError {
    const text = `member ${describeMember(this.#member)} cannot be joined with: ${how}; ${SAME_KEY_ADVICE}`;
    return new MeshError('ERR_RDMC_MESH_WRONG_KEY', text, { cause, ...aboutMember(this.#member) });
  }

  #otherVersion(theirs: number): MeshError {
    return new MeshError(
      'ERR_RDMC_MESH_VERSION',
      describeVersions(`member ${describeMember(this.#member)}`, theirs, this.#hello.version),
      aboutMember(this.#member),
    );
  }
}

function aboutMember({ id }: Member): { readonly memberId?: number } {
  return id === ANY_MEMBER ? {} : { memberId: id };
}

function asMeshError(error: unknown, member: Member): MeshError {
  return error instanceof MeshError
    ? error
    : unreachable(`${describeMember(member)}: ${messageOf(error)}`, error);
}
