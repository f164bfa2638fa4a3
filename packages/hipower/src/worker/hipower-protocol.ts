import type { Protocol, ProtocolContext } from '@rdmc/dataplane';
import {
  type ChannelSetup,
  Command,
  type ConnectOrder,
  decodeJson,
  Event,
  encodeJson,
  type Trouble,
} from '../records.js';
import { ClosedError } from './closed-error.js';
import { GiveWay } from './give-way.js';
import { RequesterChannel } from './requester-channel.js';
import { ResponderChannel } from './responder-channel.js';
import type { ChannelPort, WorkerChannel } from './worker-channel.js';

/** All channels of a node, in the data plane's worker. */
export class HiPowerProtocol implements Protocol {
  readonly #channels = new Map<number, WorkerChannel>();
  readonly #byNumber: (WorkerChannel | undefined)[] = [];
  /** Channels that something happened to. */
  readonly #active: WorkerChannel[] = [];
  readonly #giveWay = new GiveWay();
  /** Since the last turn, something happened to a channel; a channel asked for a look and nothing else. */
  #hasWork = false;
  #hasLook = false;
  /** Of all that asked for a look. */
  #areBulky = true;

  constructor(private readonly context: ProtocolContext) {}

  onCommand(kind: number, request: number, payload: Uint8Array): void {
    if (kind >= Command.KICK) {
      this.#kick(kind - Command.KICK);
      return;
    }
    switch (kind) {
      case Command.OPEN:
        this.#open(request, decodeJson(payload));
        break;
      case Command.PAIR:
        this.#pair(request, decodeJson(payload));
        break;
      case Command.CONNECT:
        void this.#connect(request, decodeJson(payload));
        break;
      case Command.START:
        this.#start(request, decodeJson<{ channel: number }>(payload).channel);
        break;
      case Command.DISMISS:
        this.#dismiss(decodeJson(payload));
        break;
      case Command.CLOSE:
        this.#close(decodeJson<{ channel: number }>(payload).channel);
        this.context.reply(request);
        break;
      default:
        this.context.fail(request, 'ERR_RDMC_UNKNOWN_COMMAND', `There is no HiPower command ${kind}`);
    }
  }

  onTurn(): void {
    // Whoever is touched while this runs has asked for another turn, or is advanced in this one.
    const { length } = this.#active;
    for (let i = 0; i < length; i += 1) {
      const channel = this.#active[i]!;
      channel.touched = false;
      channel.advance();
    }
    this.#forget(length);
    this.#rest();
  }

  stop(): void {
    for (const number of [...this.#channels.keys()]) this.#close(number);
  }

  /** Takes so many off the front of the list. `copyWithin` and a new length took a tenth of the worker's time. */
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

  /** Once per turn, and after all that it posted is on its way: others may run where there is nothing but looks to do. */
  #rest(): void {
    if (this.#hasWork) {
      this.#giveWay.worked();
    } else if (this.#hasLook) {
      this.context.submission.flush();
      this.#giveWay.giveWay(this.#areBulky);
    }
    this.#areBulky = true;
    this.#hasLook = false;
    this.#hasWork = false;
  }

  #touch(channel: WorkerChannel): void {
    this.#hasWork = true;
    this.#list(channel);
  }

  #lookAgain(channel: WorkerChannel): void {
    this.#hasLook = true;
    this.#areBulky &&= channel.isBulky;
    this.#list(channel);
    this.context.wake();
  }

  #list(channel: WorkerChannel): void {
    if (channel.touched) return;
    channel.touched = true;
    this.#active.push(channel);
  }

  #open(request: number, setup: ChannelSetup): void {
    this.#try(request, () => {
      const wakeKind = Event.WAKE + setup.channel;
      const port: ChannelPort = {
        touch: () => this.#touch(channel),
        lookAgain: () => this.#lookAgain(channel),
        wakeApplication: () => this.context.emit(wakeKind),
        trouble: (peer, generation, kind, code, reason) => {
          const trouble: Trouble = { channel: setup.channel, peer, generation, kind, code, reason };
          this.context.emit(Event.TROUBLE, encodeJson(trouble));
        },
      };
      const Channel = setup.role === 'requester' ? RequesterChannel : ResponderChannel;
      const channel: WorkerChannel = new Channel(this.context, setup, port);
      this.#channels.set(setup.channel, channel);
      this.#byNumber[setup.channel] = channel;
      this.context.reply(request);
    });
  }

  #pair(request: number, order: { channel: number; peer: number; generation: number }): void {
    this.#try(request, () => {
      // Nothing may be posted to a queue pair once it is closed, so what this turn posted goes first.
      this.context.submission.flush();
      const answer = this.#channelOf(order.channel).createPair(order.peer, order.generation);
      this.context.submission.flush();
      this.context.reply(request, encodeJson(answer));
    });
  }

  async #connect(request: number, order: ConnectOrder): Promise<void> {
    try {
      const transport = await this.#channelOf(order.channel).connect(order);
      this.context.reply(request, encodeJson(transport));
    } catch (error) {
      this.#fail(request, error);
    }
  }

  /** The answer comes before any trouble that starting brings. */
  #start(request: number, number: number): void {
    this.#try(request, () => {
      const channel = this.#channelOf(number);
      this.context.reply(request);
      channel.start();
    });
  }

  #dismiss({ channel, peer }: { channel: number; peer: number }): void {
    this.context.submission.flush();
    this.#byNumber[channel]?.dismiss(peer);
  }

  /** Orders to a channel that has been closed meanwhile are no harm. @throws ClosedError */
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
    try {
      this.context.submission.flush();
    } catch {
      // Its queue pair broke: there is nothing left to post to.
    }
    channel.close();
  }

  #try(request: number, action: () => void): void {
    try {
      action();
    } catch (error) {
      this.#fail(request, error);
    }
  }

  #fail(request: number, error: unknown): void {
    const { code, message } = error as { code?: string; message?: string };
    if (code === undefined) throw error;
    this.context.fail(request, code, message ?? '');
  }
}
