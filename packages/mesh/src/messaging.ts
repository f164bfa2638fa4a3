import { type Body, BodyKind, decodeBody, encodeBody } from './body.js';
import { MAX_TOPIC_BYTES } from './constants.js';
import { codeOf, invalidArgument, MeshError, MeshRemoteError, messageOf } from './errors.js';
import {
  clipText,
  decodeErrorBody,
  decodeMessage,
  decodeReply,
  decodeRequest,
  encodeMessage,
  encodeReply,
  encodeRequest,
  type Frame,
  FrameType,
  LENGTH_BYTES,
} from './frames.js';
import { encodeJson } from './json.js';
import type { Link } from './link.js';
import type { ResolvedOptions } from './options.js';
import { type RequestOptions, Requests } from './requests.js';
import { TopicSubscriptions } from './topic-subscriptions.js';

/** Gets a message's body, and the id of its sender. */
export type MessageListener = (from: number, body: unknown) => void;
/** Answers a request by its result or by its promise's value. An error that it throws reaches the requester. */
export type RequestHandler = (from: number, body: unknown) => unknown;

/** The links that messaging uses. */
export interface MemberLinks {
  /** The link to a peer; throws for one that is lost, has left or is unknown, and after `close`. */
  linkTo(member: number): Link;
  readonly links: ReadonlyMap<number, Link>;
  assertOpen(): void;
}

interface Call {
  readonly request: number;
  readonly body: unknown;
  /** The link on which the request arrived: its answer goes there or nowhere. Undefined: from this member itself. */
  readonly link: Link | undefined;
}

/** Messages and requests over the links, and to this member itself. */
export class Messaging {
  readonly #options: ResolvedOptions;
  readonly #links: MemberLinks;
  readonly #messages = new TopicSubscriptions<unknown>();
  readonly #calls = new TopicSubscriptions<Call>();
  readonly #requests = new Requests();
  #ownFrames: Buffer[] = [];
  #ownBytes = 0;

  constructor(options: ResolvedOptions, links: MemberLinks) {
    this.#options = options;
    this.#links = links;
  }

  send(to: number, topic: string, body: unknown): void {
    const frame = encodeMessage(encodeTopic(topic), encodeBody(body));
    if (to === this.#options.id && !this.#messages.hasRoom(topic, to, frame.length))
      throw unreadOverflow(topic);
    this.#transmit(to, frame);
  }

  broadcast(topic: string, body: unknown): void {
    this.#links.assertOpen();
    const frame = encodeMessage(encodeTopic(topic), encodeBody(body));
    const links = [...this.#links.links.values()];
    // To all or to none: the application cannot know which peers a partial broadcast reached.
    for (const link of links) this.#admit(link, frame);
    for (const link of links) link.send(frame);
  }

  onMessage(topic: string, listener: MessageListener): () => void {
    encodeTopic(topic);
    requireFunction(listener);
    return this.#messages.subscribe(topic, (from, body) => listener(from, body));
  }

  async request(to: number, topic: string, body: unknown, options: RequestOptions): Promise<unknown> {
    const name = encodeTopic(topic);
    const bytes = encodeBody(body);
    return this.#requests.start(to, topic, options, (request) =>
      this.#transmit(to, encodeRequest(request, name, bytes)),
    );
  }

  onRequest(topic: string, handler: RequestHandler): () => void {
    encodeTopic(topic);
    requireFunction(handler);
    if (this.#calls.has(topic)) {
      throw new MeshError(
        'ERR_RDMC_MESH_HANDLER_TAKEN',
        `requests '${topic}' have a handler; remove it before another is set`,
      );
    }
    return this.#calls.subscribe(topic, (from, call) => void this.#answer(from, call, handler));
  }

  /** Bytes that wait for a peer's socket; for this member itself, those not delivered yet. */
  bufferedBytes(to: number): number {
    return to === this.#options.id ? this.#ownBytes : this.#links.linkTo(to).bufferedBytes;
  }

  /** Takes a MESSAGE, REQUEST or REPLY. Throws ERR_RDMC_MESH_PROTOCOL or ..._UNREAD_OVERFLOW. */
  receive(from: number, { type, payload }: Frame): void {
    if (type === FrameType.MESSAGE) this.#receiveMessage(from, payload);
    else if (type === FrameType.REQUEST) this.#receiveRequest(from, payload);
    else this.#receiveReply(from, payload);
  }

  rejectMember(member: number, error: MeshError): void {
    this.#requests.rejectMember(member, error);
  }

  /** Drops the messages and requests of a member that wait for a first subscriber. */
  dropKept(member: number): void {
    this.#messages.drop(member);
    this.#calls.drop(member);
  }

  close(error: MeshError): void {
    this.#requests.rejectAll(error);
    this.#messages.clear();
    this.#calls.clear();
    this.#ownFrames = [];
    this.#ownBytes = 0;
  }

  #receiveMessage(from: number, payload: Buffer): void {
    const { topic, body } = decodeMessage(payload);
    if (!this.#messages.deliver(topic, from, decodeBody(body), payload.length)) throw unreadOverflow(topic);
  }

  #receiveRequest(from: number, payload: Buffer): void {
    const { request, topic, body } = decodeRequest(payload);
    const call: Call = { request, body: decodeBody(body), link: this.#links.links.get(from) };
    if (this.#calls.deliver(topic, from, call, payload.length)) return;
    const message = `too many requests '${topic}' wait for a handler`;
    this.#reply(from, call, errorBody('ERR_RDMC_MESH_NO_HANDLER', message));
  }

  #receiveReply(from: number, payload: Buffer): void {
    const { request, body } = decodeReply(payload);
    const pending = this.#requests.find(from, request);
    if (pending === undefined) return;
    if (body.kind === BodyKind.ERROR) {
      const { code, message } = decodeErrorBody(body.bytes);
      pending.reject(new MeshRemoteError(from, code, message));
    } else {
      pending.resolve(decodeBody(body));
    }
  }

  async #answer(from: number, call: Call, handler: RequestHandler): Promise<void> {
    try {
      const answer = await handler(from, call.body);
      this.#reply(from, call, encodeBody(answer === undefined ? null : answer));
    } catch (error) {
      this.#replyError(from, call, error);
    }
  }

  #reply(from: number, call: Call, body: Body): void {
    if (this.#isGone(from, call)) return;
    this.#transmit(from, encodeReply(call.request, body));
  }

  /** Small, and not subject to the bound of buffered bytes: the caller must not wait for an answer that does not come. */
  #replyError(from: number, call: Call, error: unknown): void {
    if (this.#isGone(from, call)) return;
    const body = errorBody(codeOf(error) ?? 'ERR_RDMC_MESH_REMOTE', clipText(messageOf(error)));
    const frame = encodeReply(call.request, body);
    if (from === this.#options.id) this.#queueOwn(frame);
    else this.#links.linkTo(from).send(frame);
  }

  /**
   * Meanwhile the caller may be lost or have left, or this member may be closed. Where the caller is connected anew, the
   * process there did not ask, or does not wait any more.
   */
  #isGone(member: number, { link }: Call): boolean {
    try {
      this.#links.assertOpen();
      return member !== this.#options.id && this.#links.linkTo(member) !== link;
    } catch {
      return true;
    }
  }

  #transmit(to: number, frame: Buffer): void {
    this.#links.assertOpen();
    if (to !== this.#options.id) {
      const link = this.#links.linkTo(to);
      this.#admit(link, frame);
      link.send(frame);
      return;
    }
    this.#checkSize(frame, to, this.#options.maxFrameBytes);
    this.#checkRoom(frame, to, this.#ownBytes);
    this.#queueOwn(frame);
  }

  #admit(link: Link, frame: Buffer): void {
    this.#checkSize(frame, link.peer, link.hello.maxFrameBytes);
    this.#checkRoom(frame, link.peer, link.bufferedBytes);
  }

  #checkSize(frame: Buffer, to: number, limit: number): void {
    const size = frame.length - LENGTH_BYTES;
    if (size <= limit) return;
    throw new MeshError(
      'ERR_RDMC_MESH_FRAME_TOO_LARGE',
      `a frame has ${size} bytes, and member ${to} accepts ${limit}; send less, or raise maxFrameBytes there`,
      { memberId: to },
    );
  }

  #checkRoom(frame: Buffer, to: number, bufferedBytes: number): void {
    if (bufferedBytes + frame.length <= this.#options.maxBufferedBytes) return;
    throw new MeshError(
      'ERR_RDMC_MESH_BACKPRESSURE',
      `${bufferedBytes} bytes are queued for member ${to}, and ${frame.length} more would exceed maxBufferedBytes = ` +
        `${this.#options.maxBufferedBytes}; send again when bufferedBytes(${to}) is lower`,
      { memberId: to },
    );
  }

  /** A message to this member has the same form as one to others, so that a body is a copy and arrives later. */
  #queueOwn(frame: Buffer): void {
    if (this.#ownFrames.length === 0) setImmediate(() => this.#deliverOwn());
    this.#ownFrames.push(frame);
    this.#ownBytes += frame.length;
  }

  #deliverOwn(): void {
    const frames = this.#ownFrames;
    this.#ownFrames = [];
    this.#ownBytes = 0;
    for (const frame of frames) {
      this.receive(this.#options.id, {
        type: frame[LENGTH_BYTES]!,
        payload: frame.subarray(LENGTH_BYTES + 1),
      });
    }
  }
}

function encodeTopic(topic: unknown): Buffer {
  const bytes = typeof topic === 'string' ? Buffer.from(topic) : undefined;
  if (bytes === undefined || bytes.length === 0 || bytes.length > MAX_TOPIC_BYTES) {
    throw invalidArgument(`topic: needed text of 1 to ${MAX_TOPIC_BYTES} bytes`);
  }
  return bytes;
}

function errorBody(code: string, message: string): Body {
  return { kind: BodyKind.ERROR, bytes: encodeJson({ code, message }) };
}

function requireFunction(value: unknown): void {
  if (typeof value !== 'function') throw invalidArgument('listener: needed a function');
}

function unreadOverflow(topic: string): MeshError {
  return new MeshError(
    'ERR_RDMC_MESH_UNREAD_OVERFLOW',
    `too many messages '${topic}' wait for a subscriber; call onMessage before they are sent`,
  );
}
