import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Deferred, Lifetime, type Subscription } from '@rdmc/common';
import type { Participant } from '@rdmc/node';
import { type ChannelCounters, readChannelCounters } from './channel-counters.js';
import { registerEnd } from './channel-directory.js';
import type { CheckedChannelOptions } from './channel-options.js';
import { ChannelResources } from './channel-resources.js';
import { ConnectRound } from './connect-round.js';
import { Connector } from './connector.js';
import { MAX_FRUITLESS_RECONNECTS, RETRY_PAUSE_MS } from './constants.js';
import type { Environment } from './environment.js';
import { AbortError, DEVICE_REMOVED, HiPowerError, messageOf, type Progress } from './errors.js';
import { PeerCounter } from './layout/channel-memory.js';
import type { ViolationCode } from './machine/violation.js';
import type { Trouble } from './records.js';
import { RequesterErrors } from './requester-errors.js';
import type { ClosedMessage, WireMessage } from './wire-messages.js';
import type { WorkerEvents } from './worker-link.js';

const VIOLATIONS: ReadonlySet<string> = new Set<ViolationCode>([
  'ERR_RDMC_HIPOWER_BITMAP',
  'ERR_RDMC_HIPOWER_PROTOCOL',
]);

/** The connections of a requester, generation by generation, and the events that end them. */
export class RequesterSession implements Participant<WireMessage>, WorkerEvents {
  readonly role = 'requester';
  readonly #session = randomUUID();
  readonly #number: number;
  readonly #failed = new Deferred<never>();
  readonly #finished = new Set<number>();
  /** Responders that have released everything up to the end. The session does not expect anything more from them. */
  readonly #dismissed = new Set<number>();
  #generation = 0;
  /** The current round of connecting, or the last one. */
  #round = new ConnectRound(0, []);
  #state: 'connecting' | 'running' | 'failed' | 'closed' = 'connecting';
  #ending = false;
  /** Ends the first wait for the responders, but not later ones. */
  #signal: AbortSignal | undefined;
  #fruitless = 0;
  /** Why the last round of connecting failed. */
  #lastFailure: unknown;
  #releasedBefore = 0;
  readonly #connector: Connector;
  readonly #errors: RequesterErrors;
  readonly lifetime = new Lifetime();
  #registration: Subscription | undefined;
  error: HiPowerError | undefined;
  #closing: Promise<void> | undefined;
  /** The counters at the time when the memory was freed. */
  #finalCounters: ChannelCounters | undefined;

  private constructor(
    private readonly environment: Environment,
    readonly options: CheckedChannelOptions,
    readonly resources: ChannelResources,
    /** Called when slots are free again, a responder has finished, or the session failed. */
    private readonly onNews: () => void,
  ) {
    this.#number = environment.link.take(this);
    this.#signal = options.signal;
    this.#connector = new Connector(environment, options, resources, this.#number, this.#session);
    this.#errors = new RequesterErrors(options.channel, () => this.progress());
  }

  /** @throws HiPowerError; everything is freed then */
  static async open(
    environment: Environment,
    options: CheckedChannelOptions,
    onNews: () => void,
  ): Promise<RequesterSession> {
    const resources = await ChannelResources.allocate(environment, 'requester', options);
    const session = new RequesterSession(environment, options, resources, onNews);
    try {
      session.#registration = registerEnd(environment, session);
      await environment.link.commands.open(resources.setup(session.#number));
      await session.#connect();
      session.#signal = undefined;
      return session;
    } catch (error) {
      await session.close(false, messageOf(error));
      throw error;
    }
  }

  get channel(): string {
    return this.options.channel;
  }

  get transports(): readonly string[] {
    return this.#connector.transports;
  }

  get generation(): number {
    return this.#generation;
  }

  /** Every responder has reported that it has everything up to the end. */
  get allFinished(): boolean {
    return this.#finished.size === this.options.peers.length;
  }

  kick(): void {
    this.environment.link.commands.kick(this.#number);
  }

  /** The end flag may be written from now on, so responders may leave. */
  ending(): void {
    this.#ending = true;
  }

  /** Drops the present connection: outstanding slots count as lost, and the next generation sends them again. */
  reconnect(): void {
    if (this.#state !== 'running') return;
    this.#state = 'connecting';
    this.#connect().catch((error: unknown) => this.#failWith(this.#errors.of(error)));
  }

  counters(): ChannelCounters {
    return this.#finalCounters ?? readChannelCounters(this.resources.memory, this.progress());
  }

  progress(): Progress[] {
    const { counters } = this.resources.memory;
    return this.options.peers.map((memberId, peer) => ({
      memberId,
      delivered: counters[this.resources.memory.peerCounter(peer, PeerCounter.SLOTS)]!,
      released: counters[this.resources.memory.peerCounter(peer, PeerCounter.RELEASED)]!,
    }));
  }

  take(from: number, message: WireMessage): boolean {
    this.#take(from, message);
    return true;
  }

  #take(from: number, message: WireMessage): void {
    if (this.#state === 'closed' || message.session !== this.#session) return;
    if (!this.options.peers.includes(from)) return;
    const current = message.generation === this.#generation;
    if (message.type === 'accept' && current) this.#round.accepted(from, message);
    else if (message.type === 'refuse') {
      this.#failWith(this.#errors.refused(from, message.code, message.field, message.reason));
    } else if (message.type === 'broken' && current) this.#broke(`member ${from} lost it: ${message.reason}`);
    else if (message.type === 'finished') this.#finish(from);
    else if (message.type === 'closed') this.#peerClosed(from, message.complete, message.reason);
  }

  peerLost(member: number, reason: string): void {
    if (this.#state === 'closed' || !this.options.peers.includes(member)) return;
    if (this.#dismissed.has(member)) return;
    if (this.#isThrough(member)) {
      this.#dismiss(member);
      return;
    }
    const what = `responder ${member} is lost: ${reason}`;
    this.#failWith(this.#errors.by(member, 'ERR_RDMC_HIPOWER_PEER_LOST', what, reason));
  }

  wake(): void {
    this.onNews();
  }

  trouble({ peer, generation, kind, code, reason }: Trouble): void {
    const member = this.options.peers[peer];
    if (kind === 'connection') {
      const which = member === undefined ? 'a connection' : `the connection to member ${member}`;
      if (generation === this.#generation) this.#broke(`${which} broke: ${reason}`);
      return;
    }
    this.#violated(member, code, reason);
  }

  workerDied(cause: Error): void {
    this.#failWith(this.#errors.workerDied(cause));
  }

  deviceRemoved(): void {
    if (this.error || this.#state === 'closed') return;
    this.#failWith(this.#errors.deviceRemoved());
    this.#tellAll(false, DEVICE_REMOVED);
  }

  /** Closes all connections and frees the memory. Idempotent. */
  close(complete: boolean, reason: string): Promise<void> {
    this.#closing ??= this.#close(complete, reason);
    return this.#closing;
  }

  async #close(complete: boolean, reason: string): Promise<void> {
    this.#state = 'closed';
    const ended = this.error ?? this.#errors.closed();
    this.lifetime.end(ended);
    this.#round.fail(ended);
    const { link } = this.environment;
    await link.close(this.#number);
    this.#tellAll(complete, reason);
    this.#registration?.close();
    this.#finalCounters = this.counters();
    await this.resources.close();
    this.lifetime.free();
  }

  async #connect(): Promise<void> {
    for (;;) {
      try {
        if (this.error) throw this.error;
        await this.#connectOnce();
        return;
      } catch (error) {
        if (this.error) throw this.error;
        if (this.#closing) throw error;
        if (error instanceof AbortError) throw error;
        if (error instanceof HiPowerError && error.code !== 'ERR_RDMC_HIPOWER_CONNECTION_LOST') throw error;
        this.#lastFailure = error;
        this.#fruitless += 1;
        if (this.#fruitless > MAX_FRUITLESS_RECONNECTS) throw this.#errors.lost(messageOf(error), error);
        await delay(RETRY_PAUSE_MS * this.#fruitless);
        if (this.#closing) throw this.#errors.closed();
      }
    }
  }

  async #connectOnce(): Promise<void> {
    const members = this.options.peers.filter((id) => !this.#dismissed.has(id));
    this.#generation += 1;
    this.#round = new ConnectRound(this.#generation, members, (member, error) => this.#blame(member, error));
    await this.#connector.connect(this.#round, members, {
      failed: this.#failed.promise,
      signal: this.#signal,
      cause: this.#lastFailure,
    });
    this.#state = 'running';
    this.#lastFailure = undefined;
  }

  /** An inconsistent account is a protocol error; do not reconnect. */
  #blame(member: number, error: unknown): void {
    const { code } = error as { code?: string };
    if (VIOLATIONS.has(code!)) this.#violated(member, code!, messageOf(error));
  }

  #violated(member: number | undefined, code: string, reason: string): void {
    const what = `responder ${member} violated the protocol: ${reason}`;
    this.#failWith(this.#errors.by(member, code, what, reason));
  }

  #broke(reason: string): void {
    if (this.#state === 'connecting') {
      this.#round.fail(this.#errors.lost(reason));
      return;
    }
    if (this.#state !== 'running') return;
    this.#state = 'connecting';
    const released = this.progress().reduce((sum, peer) => sum + peer.released, 0);
    this.#fruitless = released === this.#releasedBefore ? this.#fruitless + 1 : 0;
    this.#releasedBefore = released;
    if (this.#fruitless > MAX_FRUITLESS_RECONNECTS) {
      this.#failWith(this.#errors.lost(reason));
      return;
    }
    this.#connect().catch((error: unknown) => this.#failWith(this.#errors.of(error)));
  }

  #finish(from: number): void {
    this.#finished.add(from);
    this.onNews();
  }

  #peerClosed(from: number, complete: boolean, reason: string): void {
    if (this.#dismissed.has(from)) return;
    if (complete && this.#ending) {
      this.#finish(from);
      this.#dismiss(from);
      return;
    }
    const what = `responder ${from} closed before the end: ${reason}`;
    this.#failWith(this.#errors.by(from, 'ERR_RDMC_HIPOWER_PEER_CLOSED', what, reason));
  }

  /** The responder has taken everything, and all of it is known to be released. */
  #isThrough(member: number): boolean {
    const { delivered, released } = this.progress().find(({ memberId }) => memberId === member)!;
    return this.#finished.has(member) && delivered === released;
  }

  /** Continues without a responder that has everything: its slots are free, and it may leave. */
  #dismiss(member: number): void {
    this.#dismissed.add(member);
    this.#round.dismissed(member);
    this.environment.link.commands.dismiss(this.#number, this.options.peers.indexOf(member));
    this.environment.directory.send(member, this.#closedMessage(true, 'it has everything'));
    this.onNews();
  }

  /** Tells all responders that this side has ended, except those that have everything. */
  #tellAll(complete: boolean, reason: string): void {
    for (const to of this.options.peers) {
      if (!this.#dismissed.has(to))
        this.environment.directory.send(to, this.#closedMessage(complete, reason));
    }
  }

  #closedMessage(complete: boolean, reason: string): ClosedMessage {
    return { ...this.#header(), type: 'closed', by: 'requester', complete, reason };
  }

  #failWith(error: HiPowerError): void {
    if (this.error || this.#state === 'closed') return;
    this.error = error;
    this.lifetime.end(error);
    this.#state = 'failed';
    this.#failed.reject(error);
    this.onNews();
  }

  #header(): { channel: string; session: string; generation: number } {
    return { channel: this.channel, session: this.#session, generation: this.#generation };
  }
}
