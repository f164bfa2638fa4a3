import { type Limits, within } from '@rdmc/common';
import type { CheckedChannelOptions } from './channel-options.js';
import type { ChannelResources } from './channel-resources.js';
import { type Connecting, connectLimits } from './connect-limits.js';
import type { ConnectRound } from './connect-round.js';
import type { Environment } from './environment.js';
import { parametersOf } from './wire-messages.js';

/** Events that end a round from outside. */
export interface RoundLimits {
  /** Rejects when the session fails. */
  readonly failed: Promise<never>;
  readonly signal: AbortSignal | undefined;
  /** Why the previous round failed. */
  readonly cause: unknown;
}

/** Connects a requester to its responders, round by round. */
export class Connector {
  /** Per responder. */
  readonly transports: string[] = [];

  constructor(
    private readonly environment: Environment,
    private readonly options: CheckedChannelOptions,
    private readonly resources: ChannelResources,
    /** The channel's number in the worker. */
    private readonly number: number,
    private readonly session: string,
  ) {}

  /**
   * One generation: a new queue pair for each responder, whose account says where to continue; then the worker starts.
   * @throws the error that ended the round; HiPowerError ERR_RDMC_HIPOWER_TIMEOUT; AbortError; the worker's error
   */
  async connect(round: ConnectRound, members: readonly number[], limits: RoundLimits): Promise<void> {
    try {
      const all = Promise.all(members.map((member) => this.#connectTo(round, member)));
      await within(Promise.race([all, round.failed, limits.failed]), this.#limits(round, limits));
      round.check();
      await this.environment.link.commands.start(this.number);
      // A connection may have broken since the worker started.
      round.check();
    } catch (error) {
      round.fail(error);
      throw error;
    }
  }

  async #connectTo(round: ConnectRound, member: number): Promise<void> {
    const { directory } = this.environment;
    const { commands } = this.environment.link;
    const peer = this.options.peers.indexOf(member);
    const order = { channel: this.number, peer, generation: round.generation };
    const { address } = await commands.createPair(order);
    round.check();
    directory.send(member, {
      type: 'offer',
      channel: this.options.channel,
      session: this.session,
      generation: round.generation,
      parameters: parametersOf(this.options),
      address,
      remote: this.resources.remote(peer),
    });
    const accept = await round.acceptOf(member);
    round.check();
    if (!accept) return;
    const { remote, account } = accept;
    try {
      this.transports[peer] = await commands.connect({
        channel: this.number,
        peer,
        address: accept.address,
        remote,
        account,
      });
    } catch (error) {
      round.unusable(member, error);
      throw error;
    }
  }

  #limits(round: ConnectRound, { signal, cause }: RoundLimits): Limits {
    const { channel, timeoutMs } = this.options;
    const connecting: Connecting = {
      what: `Requester '${channel}'`,
      counterpart: 'responder',
      missing: () => round.missing,
      cause: () => cause,
    };
    return connectLimits({ timeoutMs, signal }, connecting);
  }
}
