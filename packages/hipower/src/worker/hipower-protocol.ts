import { type CommandHandlers, type Protocol, type ProtocolContext, protocolWorker } from '@rdmc/dataplane';
import { type ChannelSetup, type HiPowerRecords, hiPowerRecords } from '../records.js';
import { ClosedError } from './closed-error.js';
import { Lull } from './lull.js';
import { RequesterChannel } from './requester-channel.js';
import { ResponderChannel } from './responder-channel.js';
import type { ChannelPort, WorkerChannel } from './worker-channel.js';

/** All channels of a node, in the data plane's worker. */
export class HiPowerProtocol implements Protocol<HiPowerRecords> {
  readonly #channels = new Map<number, WorkerChannel>();
  readonly #byNumber: (WorkerChannel | undefined)[] = [];
  /** Channels with an event. */
  readonly #active: WorkerChannel[] = [];
  readonly #lull = new Lull();
  /** Since the last turn: a channel had an event; a channel only requested a look. */
  #hasWork = false;
  #hasLook = false;

  constructor(private readonly context: ProtocolContext<HiPowerRecords>) {}

  /** A channel may be closed when a command for it arrives. */
  readonly commands: CommandHandlers<HiPowerRecords> = {
    open: (setup) => this.#open(setup),
    createPair: ({ channel, peer, generation }) => this.#channelOf(channel).createPair(peer, generation),
    connect: (order) => this.#channelOf(order.channel).connect(order),
    start: (channel) => this.#channelOf(channel).start(),
    close: (channel) => this.#close(channel),
    dismiss: (channel, peer) => this.#byNumber[channel]?.dismiss(peer),
    kick: (channel) => this.#kick(channel),
  };

  onTurn(): void {
    // A channel that is touched while this runs has requested another turn, or is advanced in this one.
    const { length } = this.#active;
    for (let i = 0; i < length; i += 1) {
      const channel = this.#active[i]!;
      channel.touched = false;
      channel.advance();
    }
    this.#forget(length);
    if (this.#hasWork) this.#lull.worked();
    else if (this.#hasLook) this.#lull.looked();
    this.#hasLook = false;
    this.#hasWork = false;
  }

  waitsForSolicited(): boolean {
    for (const channel of this.#channels.values()) {
      if (!channel.waitsForSolicited) return false;
    }
    return true;
  }

  stop(): void {
    for (const number of [...this.#channels.keys()]) this.#close(number);
  }

  /** Removes that many from the head of the list. `copyWithin` and a new length took a tenth of the worker's time. */
  #forget(count: number): void {
    const active = this.#active;
    for (let i = count; i < active.length; i += 1) active[i - count] = active[i]!;
    for (let i = 0; i < count; i += 1) active.pop();
  }

  #kick(number: number): void {
    const channel = this.#byNumber[number];
    if (!channel) return;
    channel.kick();
    this.#touch(channel);
  }

  #touch(channel: WorkerChannel): void {
    this.#hasWork = true;
    this.#list(channel);
  }

  #lookAgain(channel: WorkerChannel): void {
    this.#hasLook = true;
    this.#list(channel);
    this.context.look(channel.isBulky || this.#lull.isLong);
  }

  #list(channel: WorkerChannel): void {
    if (channel.touched) return;
    channel.touched = true;
    this.#active.push(channel);
  }

  #open(setup: ChannelSetup): void {
    const { events } = this.context;
    const number = setup.channel;
    const port: ChannelPort = {
      touch: () => this.#touch(channel),
      lookAgain: () => this.#lookAgain(channel),
      worked: () => {
        this.#hasWork = true;
      },
      wakeApplication: () => events.wake(number),
      trouble: (peer, generation, kind, code, reason) =>
        events.trouble({ channel: number, peer, generation, kind, code, reason }),
    };
    const Channel = setup.role === 'requester' ? RequesterChannel : ResponderChannel;
    const channel: WorkerChannel = new Channel(this.context, setup, port);
    this.#channels.set(number, channel);
    this.#byNumber[number] = channel;
  }

  /** @throws ClosedError */
  #channelOf(number: number): WorkerChannel {
    const channel = this.#byNumber[number];
    if (channel) return channel;
    throw new ClosedError(`channel ${number} is closed`);
  }

  #close(number: number): void {
    const channel = this.#channels.get(number);
    if (!channel) return;
    this.#channels.delete(number);
    this.#byNumber[number] = undefined;
    channel.close();
  }
}

/** The exports of the module for a worker. */
export const hiPowerWorker = protocolWorker(hiPowerRecords, (context) => new HiPowerProtocol(context));
