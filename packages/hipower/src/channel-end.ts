import type { Lifetime } from '@rdmc/common';
import type { ChannelCounters } from './channel-counters.js';

/** The session of an end, as far as both ends show it. */
export interface EndSession {
  readonly channel: string;
  readonly options: { readonly peers: readonly number[] };
  readonly transports: readonly string[];
  readonly lifetime: Lifetime;
  counters(): ChannelCounters;
}

/** What requester and responder have in common. */
export abstract class ChannelEnd implements AsyncDisposable {
  readonly #session: EndSession;

  protected constructor(session: EndSession) {
    this.#session = session;
  }

  get channel(): string {
    return this.#session.channel;
  }

  /** The members at the other end: the responders of a requester, the requesters of a responder. */
  get peers(): readonly number[] {
    return this.#session.options.peers;
  }

  /** What messages travel by, per peer: 'shm', 'tcp'. */
  get transports(): readonly string[] {
    return this.#session.transports;
  }

  /** Aborted when the channel has ended here: with the error that ended it, or when it is closed. */
  get signal(): AbortSignal {
    return this.#session.lifetime.signal;
  }

  /** Resolves when its connections are closed and its memory is freed. */
  get closed(): Promise<void> {
    return this.#session.lifetime.closed;
  }

  counters(): ChannelCounters {
    return this.#session.counters();
  }

  abstract close(): Promise<void>;

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
