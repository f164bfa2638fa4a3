import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Deferred } from '@rdmc/common';
import { type ChannelCounters, readChannelCounters } from './channel-counters.js';
import type { CheckedChannelOptions } from './channel-options.js';
import { ChannelResources } from './channel-resources.js';
import { connectDeadline } from './connect-deadline.js';
import { HIPOWER_PROTOCOL_VERSION, MAX_BARREN_RECONNECTS } from './constants.js';
import type { Participant } from './directory.js';
import type { Environment } from './environment.js';
import { HiPowerError, type HiPowerErrorCode, messageOf, type Progress } from './errors.js';
import { PeerCounter } from './layout/channel-memory.js';
import type { Trouble } from './records.js';
import type { AcceptMessage, Parameters, WireMessage } from './wire-messages.js';
import type { WorkerEvents } from './worker-link.js';

const RETRY_PAUSE_MS = 20;

export function parametersOf({ slots, slotBytes, mode, confirmation }: CheckedChannelOptions): Parameters {
  return { version: HIPOWER_PROTOCOL_VERSION, slots, slotBytes, mode, confirmation };
}

/** The connections of a requester, generation by generation, and what ends them. */
export class RequesterSession implements Participant, WorkerEvents {
  readonly role = 'requester';
  readonly #session = randomUUID();
  readonly #number: number;
  readonly #failed = new Deferred<never>();
  readonly #finished = new Set<number>();
  #generation = 0;
  #accepts = new Map<number, Deferred<AcceptMessage>>();
  /** Responders that accepted the present generation. */
  readonly #answered = new Set<number>();
  /** Rejects when the round of connecting that is under way is in vain. */
  #round = new Deferred<never>();
  #state: 'connecting' | 'running' | 'failed' | 'closed' = 'connecting';
  #barren = 0;
  #releasedBefore = 0;
  #transports: readonly string[] = [];
  error: HiPowerError | undefined;
  #closing: Promise<void> | undefined;
  /** The counters as they were when the memory was given back. */
  #finalCounters: ChannelCounters | undefined;

  private constructor(
    private readonly environment: Environment,
    readonly options: CheckedChannelOptions,
    readonly resources: ChannelResources,
    /** Slots are free again, a responder has finished, or the session failed. */
    private readonly onNews: () => void,
  ) {
    this.#number = environment.link.take(this);
  }

  /** @throws HiPowerError; nothing is left then */
  static async open(
    environment: Environment,
    options: CheckedChannelOptions,
    onNews: () => void,
  ): Promise<RequesterSession> {
    const resources = await ChannelResources.allocate(environment, 'requester', options);
    const session = new RequesterSession(environment, options, resources, onNews);
    try {
      environment.directory.register(session);
      await environment.link.open(resources.setup(session.#number));
      for (const peer of options.peers) session.#lookFor(peer);
      await session.#connect();
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
    return this.#transports;
  }

  get generation(): number {
    return this.#generation;
  }

  /** Every responder has said that it has everything up to the end. */
  get allFinished(): boolean {
    return this.#finished.size === this.options.peers.length;
  }

  kick(): void {
    this.environment.link.kick(this.#number);
  }

  /** Gives up the present connection: all that was under way counts as lost, and the next generation sends it again. */
  reconnect(): void {
    if (this.#state !== 'running') return;
    this.#state = 'connecting';
    this.#connect().catch((error: unknown) => this.#failWith(this.#asError(error)));
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

  take(from: number, message: WireMessage): void {
    if (message.session !== this.#session || !this.options.peers.includes(from)) return;
    const current = message.generation === this.#generation;
    if (message.type === 'accept' && current) this.#accepted(from, message);
    else if (message.type === 'refuse') this.#refused(from, message.code, message.field, message.reason);
    else if (message.type === 'broken' && current) this.#broke(`member ${from} lost the connection`);
    else if (message.type === 'finished') this.#finish(from);
    else if (message.type === 'closed') this.#peerClosed(from, message.complete, message.reason);
  }

  peerLost(member: number, reason: string): void {
    if (!this.options.peers.includes(member) || this.#finished.has(member)) return;
    this.#fail('ERR_RDMC_HIPOWER_PEER_LOST', `responder ${member} is lost: ${reason}`, member, reason);
  }

  wake(): void {
    this.onNews();
  }

  trouble({ peer, generation, kind, code, reason }: Trouble): void {
    const member = this.options.peers[peer];
    if (kind === 'connection') {
      if (generation === this.#generation) this.#broke(`the connection to member ${member} broke: ${reason}`);
      return;
    }
    this.#fail(code as HiPowerErrorCode, `responder ${member} broke the protocol: ${reason}`, member, reason);
  }

  workerDied(cause: Error): void {
    this.#failWith(
      new HiPowerError('ERR_RDMC_DATAPLANE_DIED', `Requester '${this.channel}': ${cause.message}`, { cause }),
    );
  }

  /** Ends all connections and gives the memory back. Idempotent. */
  close(complete: boolean, reason: string): Promise<void> {
    this.#closing ??= this.#close(complete, reason);
    return this.#closing;
  }

  async #close(complete: boolean, reason: string): Promise<void> {
    this.#state = 'closed';
    const { directory, link } = this.environment;
    await link.close(this.#number);
    for (const to of this.options.peers) {
      directory.send(to, { ...this.#header(), type: 'closed', by: 'requester', complete, reason });
    }
    directory.unregister(this);
    this.#finalCounters = this.counters();
    await this.resources.close();
  }

  /** Members that were gone before there was somebody to hear it. */
  #lookFor(member: number): void {
    const state = this.environment.mesh.peers.get(member)!.state;
    if (state !== 'connected') this.peerLost(member, state === 'left' ? 'it left the mesh' : 'it failed');
  }

  async #connect(): Promise<void> {
    for (;;) {
      try {
        if (this.error) throw this.error;
        await this.#connectOnce();
        return;
      } catch (error) {
        if (this.error ?? this.#state === 'closed') throw this.error ?? error;
        if (error instanceof HiPowerError && error.code !== 'ERR_RDMC_HIPOWER_CONNECTION_LOST') throw error;
        this.#barren += 1;
        if (this.#barren > MAX_BARREN_RECONNECTS) throw this.#lostError(messageOf(error));
        await delay(RETRY_PAUSE_MS * this.#barren);
      }
    }
  }

  /** One generation: a new queue pair for each responder, whose account says where to go on. */
  async #connectOnce(): Promise<void> {
    const { peers } = this.options;
    this.#generation += 1;
    this.#round = new Deferred();
    this.#answered.clear();
    this.#accepts = new Map(peers.map((id) => [id, new Deferred<AcceptMessage>()]));
    const cancel = new AbortController();
    const timeout = this.#deadline(cancel.signal);
    try {
      const all = Promise.all(peers.map((member, peer) => this.#connectTo(member, peer)));
      all.catch(() => {});
      this.#transports = await Promise.race([all, this.#round.promise, this.#failed.promise, timeout]);
      await this.environment.link.start(this.#number);
      this.#state = 'running';
    } finally {
      cancel.abort();
    }
  }

  async #connectTo(member: number, peer: number): Promise<string> {
    const { link, directory } = this.environment;
    const { address } = await link.createPair(this.#number, peer, this.#generation);
    directory.send(member, {
      ...this.#header(),
      type: 'offer',
      parameters: parametersOf(this.options),
      address,
      remote: this.resources.remote(peer),
    });
    const accept = await this.#accepts.get(member)!.promise;
    return link.connect({
      channel: this.#number,
      peer,
      address: accept.address,
      remote: accept.remote,
      account: accept.account,
    });
  }

  #deadline(cancelled: AbortSignal): Promise<never> {
    const missing = (): number[] => this.options.peers.filter((id) => !this.#answered.has(id));
    const connecting = { what: `Requester '${this.channel}'`, counterpart: 'responder', missing } as const;
    return connectDeadline(this.options, connecting, cancelled);
  }

  #broke(reason: string): void {
    if (this.#state === 'connecting') {
      this.#round.reject(this.#lostError(reason));
      return;
    }
    if (this.#state !== 'running') return;
    this.#state = 'connecting';
    const released = this.progress().reduce((sum, peer) => sum + peer.released, 0);
    this.#barren = released === this.#releasedBefore ? this.#barren + 1 : 0;
    this.#releasedBefore = released;
    if (this.#barren > MAX_BARREN_RECONNECTS) {
      this.#failWith(this.#lostError(reason));
      return;
    }
    this.#connect().catch((error: unknown) => this.#failWith(this.#asError(error)));
  }

  #accepted(from: number, message: AcceptMessage): void {
    this.#answered.add(from);
    this.#accepts.get(from)?.resolve(message);
  }

  #refused(from: number, code: string, field: string, reason: string): void {
    this.#failWith(
      new HiPowerError(
        code as HiPowerErrorCode,
        `Requester '${this.channel}': responder ${from}: ${reason}`,
        {
          memberId: from,
          reason,
          field,
        },
      ),
    );
  }

  #finish(from: number): void {
    this.#finished.add(from);
    this.onNews();
  }

  #peerClosed(from: number, complete: boolean, reason: string): void {
    if (complete) this.#finish(from);
    else if (!this.#finished.has(from)) {
      const text = `responder ${from} closed before the end: ${reason}`;
      this.#fail('ERR_RDMC_HIPOWER_PEER_CLOSED', text, from, reason);
    }
  }

  #lostError(reason: string): HiPowerError {
    return new HiPowerError(
      'ERR_RDMC_HIPOWER_CONNECTION_LOST',
      `Requester '${this.channel}': the connection broke again and again without a slot released: ${reason}`,
      { reason, progress: this.progress() },
    );
  }

  #asError(cause: unknown): HiPowerError {
    if (cause instanceof HiPowerError) return cause;
    return new HiPowerError(
      'ERR_RDMC_HIPOWER_CONNECTION_LOST',
      `Requester '${this.channel}': ${messageOf(cause)}`,
      {
        cause,
        progress: this.progress(),
      },
    );
  }

  #fail(code: HiPowerErrorCode, what: string, memberId: number | undefined, reason: string): void {
    const progress = this.progress();
    const account = progress.map(
      ({ memberId: id, delivered, released }) =>
        `of ${delivered} slots written to ${id}, ${released} are known to be consumed`,
    );
    const message = `Requester '${this.channel}': ${what}; ${account.join('; ')}`;
    const who = memberId === undefined ? {} : { memberId };
    this.#failWith(new HiPowerError(code, message, { ...who, reason, progress }));
  }

  #failWith(error: HiPowerError): void {
    if (this.error || this.#state === 'closed') return;
    this.error = error;
    this.#state = 'failed';
    this.#failed.reject(error);
    this.onNews();
  }

  #header(): { channel: string; session: string; generation: number } {
    return { channel: this.channel, session: this.#session, generation: this.#generation };
  }
}
