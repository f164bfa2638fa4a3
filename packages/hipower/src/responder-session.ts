import { Deferred, Lifetime, SerialQueue, type Subscription, settledWithin, within } from '@rdmc/common';
import type { Participant } from '@rdmc/node';
import { type ChannelCounters, readChannelCounters } from './channel-counters.js';
import { registerEnd, subjectOf } from './channel-directory.js';
import type { CheckedChannelOptions } from './channel-options.js';
import { ChannelResources } from './channel-resources.js';
import { type Connecting, connectLimits } from './connect-limits.js';
import type { Environment } from './environment.js';
import {
  DEVICE_REMOVED,
  HiPowerError,
  type HiPowerErrorCode,
  hiPowerCode,
  messageOf,
  type Progress,
} from './errors.js';
import type { Trouble } from './records.js';
import { type OfferMessage, type Parameters, parametersOf, type WireMessage } from './wire-messages.js';
import type { WorkerEvents } from './worker-link.js';

/** State of one requester. */
interface Source {
  readonly member: number;
  session: string | undefined;
  generation: number;
  /** Its offers are processed one after the other. */
  readonly work: SerialQueue;
  isConnected: boolean;
  /** The application has received everything up to the end flag. */
  isFinished: boolean;
  /** The requester knows that, and does not need this side any longer. */
  isGone: boolean;
}

/** The session's calls to its responder. */
export interface ResponderHost {
  /** Called when slots arrived, or the session failed. */
  onNews(): void;
  progress(): Progress[];
}

/** The connections of a responder, generation by generation, and the events that end them. */
export class ResponderSession implements Participant<WireMessage>, WorkerEvents {
  readonly role = 'responder';
  readonly #number: number;
  readonly #sources: Source[];
  readonly #connected = new Deferred<void>();
  readonly #transports: string[] = [];
  #closed = false;
  /** Why the last attempt to connect failed. */
  #lastFailure: unknown;
  #closing: Promise<void> | undefined;
  /** The counters at the time when the memory was freed. */
  #finalCounters: ChannelCounters | undefined;
  /** Ends the wait of a responder that is closing. */
  #onGone = (): void => {};
  readonly lifetime = new Lifetime();
  #registration: Subscription | undefined;
  error: HiPowerError | undefined;
  host: ResponderHost | undefined;

  private constructor(
    private readonly environment: Environment,
    readonly options: CheckedChannelOptions,
    readonly resources: ChannelResources,
  ) {
    this.#number = environment.link.take(this);
    this.#sources = options.peers.map((member) => ({
      member,
      session: undefined,
      generation: 0,
      work: new SerialQueue(),
      isConnected: false,
      isFinished: false,
      isGone: false,
    }));
  }

  /** Resolves when every requester is connected. @throws HiPowerError; everything is freed then */
  static async open(
    environment: Environment,
    options: CheckedChannelOptions,
    bind: (session: ResponderSession) => ResponderHost,
  ): Promise<ResponderSession> {
    const resources = await ChannelResources.allocate(environment, 'responder', options);
    const session = new ResponderSession(environment, options, resources);
    session.host = bind(session);
    try {
      session.#registration = registerEnd(environment, session);
      await environment.link.commands.open(resources.setup(session.#number));
      for (const [from, offer] of environment.directory.takeWaiting(subjectOf(session.role, session.channel)))
        session.take(from, offer);
      await session.#allConnected();
      return session;
    } catch (error) {
      await session.close(messageOf(error));
      throw error;
    }
  }

  get channel(): string {
    return this.options.channel;
  }

  get transports(): readonly string[] {
    return this.#transports;
  }

  kick(): void {
    this.environment.link.commands.kick(this.#number);
  }

  counters(): ChannelCounters {
    return this.#finalCounters ?? readChannelCounters(this.resources.memory, this.host?.progress() ?? []);
  }

  /** The application has everything of this peer up to the end flag. */
  finished(peer: number): void {
    const source = this.#sources[peer]!;
    source.isFinished = true;
    this.environment.directory.send(source.member, { ...this.#header(source), type: 'finished' });
  }

  /** An offer after the end waits for the next responder: where members come and go, another process may send it. */
  take(from: number, message: WireMessage): boolean {
    if (message.type === 'offer' && (this.#closed || this.error !== undefined)) return false;
    this.#take(from, message);
    return true;
  }

  #take(from: number, message: WireMessage): void {
    const source = this.#sources.find(({ member }) => member === from);
    if (!source) return;
    if (message.type === 'offer') this.#offered(source, message);
    else if (message.type === 'closed' && message.session === source.session) {
      this.#requesterClosed(source, message.complete, message.reason);
    }
  }

  peerLost(member: number, reason: string): void {
    const source = this.#sources.find((one) => one.member === member);
    if (!source) return;
    this.#gone(source);
    if (source.isFinished) return;
    this.#fail('ERR_RDMC_HIPOWER_PEER_LOST', `requester ${member} is lost: ${reason}`, member, reason);
  }

  wake(): void {
    this.host?.onNews();
  }

  trouble({ peer, generation, kind, code, reason }: Trouble): void {
    if (this.#closed) return;
    const source = this.#sources[peer]!;
    if (kind === 'violation') {
      const text = `requester ${source.member} violated the protocol: ${reason}`;
      this.#fail(hiPowerCode(code), text, source.member, reason);
      return;
    }
    if (generation !== source.generation || source.isFinished) return;
    this.#broken(source, reason);
  }

  workerDied(cause: Error): void {
    this.#failWith(
      new HiPowerError('ERR_RDMC_DATAPLANE_DIED', `Responder '${this.channel}': ${cause.message}`, { cause }),
    );
  }

  /** Does not fail if all requesters have ended: no slot is missing, and `close` tells them. */
  deviceRemoved(): void {
    if (this.error || this.#closed || this.#sources.every(({ isFinished }) => isFinished)) return;
    const message = `Responder '${this.channel}': ${DEVICE_REMOVED}`;
    const progress = this.host?.progress() ?? [];
    this.#failWith(
      new HiPowerError('ERR_RDMC_DEVICE_REMOVED', message, { reason: DEVICE_REMOVED, progress }),
    );
    for (const source of this.#sources) {
      if (source.session !== undefined && !source.isGone) this.#sayClosed(source, false, DEVICE_REMOVED);
    }
  }

  /**
   * Tells every requester that all its slots were released, and waits, at most `timeoutMs`, until each continues without
   * this side: until then a requester may still read P.
   */
  async confirmClose(timeoutMs: number): Promise<void> {
    const staying = this.#sources.filter(({ isGone }) => !isGone);
    if (this.error || staying.length === 0) return;
    for (const source of staying) this.#sayClosed(source, true, 'it has everything');
    const gone = new Promise<void>((resolve) => {
      this.#onGone = resolve;
    });
    await settledWithin(gone, timeoutMs);
  }

  /** Closes all connections and frees the memory. Idempotent. */
  close(reason: string, complete = false): Promise<void> {
    this.#closing ??= this.#close(reason, complete);
    return this.#closing;
  }

  async #close(reason: string, complete: boolean): Promise<void> {
    this.#closed = true;
    this.lifetime.end(this.error ?? closedError(this.channel));
    const { link } = this.environment;
    this.#registration?.close();
    await Promise.all(this.#sources.map(({ work }) => work.idle()));
    await link.close(this.#number);
    for (const source of this.#sources) {
      if (source.session !== undefined && !source.isGone) this.#sayClosed(source, complete, reason);
    }
    this.#finalCounters = this.counters();
    await this.resources.close();
    this.lifetime.free();
  }

  async #allConnected(): Promise<void> {
    if (this.error) throw this.error;
    const missing = (): number[] =>
      this.#sources.filter(({ isConnected }) => !isConnected).map(({ member }) => member);
    const connecting: Connecting = {
      what: `Responder '${this.channel}'`,
      counterpart: 'requester',
      missing,
      cause: () => this.#lastFailure,
    };
    await within(this.#connected.promise, connectLimits(this.options, connecting));
  }

  #offered(source: Source, offer: OfferMessage): void {
    const field = difference(parametersOf(this.options), offer.parameters);
    if (field) {
      const values = `is ${String(parametersOf(this.options)[field])} here and ${String(offer.parameters[field])} there`;
      this.#refuse(source, offer, field, `${field} ${values}`);
      return;
    }
    if (source.session !== undefined && source.session !== offer.session) {
      this.#refuse(
        source,
        offer,
        'session',
        'this responder already serves an earlier requester of the channel',
      );
      return;
    }
    source.session = offer.session;
    void source.work.run(() => this.#connect(source, offer));
  }

  /** Ends the former generation, sends its account, and connects again. */
  async #connect(source: Source, offer: OfferMessage): Promise<void> {
    if (this.#closed || this.error || offer.generation <= source.generation) return;
    const { directory } = this.environment;
    const { commands } = this.environment.link;
    const peer = this.#sources.indexOf(source);
    source.generation = offer.generation;
    try {
      const { address, account } = await commands.createPair({
        channel: this.#number,
        peer,
        generation: offer.generation,
      });
      const header = this.#header(source);
      directory.send(source.member, {
        ...header,
        type: 'accept',
        address,
        remote: this.resources.remote(peer),
        account: account!,
      });
      const order = {
        channel: this.#number,
        peer,
        address: offer.address,
        remote: offer.remote,
        account: null,
      };
      this.#transports[peer] = await commands.connect(order);
      source.isConnected = true;
      if (this.#sources.every(({ isConnected }) => isConnected)) this.#connected.resolve();
    } catch (error) {
      // The requester decides whether to try again; if the requester is lost, the mesh reports that.
      this.#lastFailure = error;
      this.#broken(source, messageOf(error));
    }
  }

  #broken(source: Source, reason: string): void {
    this.environment.directory.send(source.member, { ...this.#header(source), type: 'broken', reason });
  }

  #sayClosed(source: Source, complete: boolean, reason: string): void {
    const message = { type: 'closed', by: 'responder', complete, reason } as const;
    this.environment.directory.send(source.member, { ...this.#header(source), ...message });
  }

  #refuse(source: Source, offer: OfferMessage, field: string, reason: string): void {
    const { channel, session, generation } = offer;
    const code = 'ERR_RDMC_HIPOWER_MISMATCH';
    const common = { channel, session, generation };
    this.environment.directory.send(source.member, { ...common, type: 'refuse', code, field, reason });
    if (source.session !== undefined) return;
    this.#failWith(
      new HiPowerError(code, `Responder '${channel}': requester ${source.member}: ${reason}`, {
        memberId: source.member,
        field,
        reason,
      }),
    );
  }

  #requesterClosed(source: Source, complete: boolean, reason: string): void {
    this.#gone(source);
    if (complete || source.isFinished) return;
    const text = `requester ${source.member} closed before the end: ${reason}`;
    this.#fail('ERR_RDMC_HIPOWER_PEER_CLOSED', text, source.member, reason);
  }

  #gone(source: Source): void {
    source.isGone = true;
    if (this.#sources.every(({ isGone }) => isGone)) this.#onGone();
  }

  #fail(code: HiPowerErrorCode, what: string, memberId: number, reason: string): void {
    const progress = this.host?.progress() ?? [];
    const account = progress.map(
      ({ memberId: id, delivered, released }) =>
        `from member ${id}, ${delivered} slots were delivered and ${released} released`,
    );
    const message = `Responder '${this.channel}': ${what}; ${account.join('; ')}`;
    this.#failWith(new HiPowerError(code, message, { memberId, reason, progress }));
  }

  #failWith(error: HiPowerError): void {
    if (this.error || this.#closed) return;
    this.error = error;
    this.lifetime.end(error);
    this.#connected.reject(error);
    this.host?.onNews();
  }

  #header({ session, generation }: Source): { channel: string; session: string; generation: number } {
    return { channel: this.channel, session: session ?? '', generation };
  }
}

/** The first parameter that differs between the two sides. */
function difference(own: Parameters, theirs: Parameters): keyof Parameters | undefined {
  return (Object.keys(own) as (keyof Parameters)[]).find((field) => own[field] !== theirs[field]);
}

export function closedError(channel: string): HiPowerError {
  return new HiPowerError('ERR_RDMC_HIPOWER_CLOSED', `Responder '${channel}' is closed`);
}
