import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { ChannelOptions, HiPowerNodeOptions, Progress } from '@rdmc/hipower';
import { jsonLine, WatchedProcess } from '@rdmc/testing/watched-process';
import { patient } from './patience.js';

/** Found from `src`, and from `dist`, where the tests on RDMA devices are. */
const SCRIPT = fileURLToPath(new URL('../src/hipower-member.mjs', import.meta.url));
const DEADLINE_MS = 90_000;

/** One end of a channel. */
export interface HiPowerEndOptions {
  /** With `to` it is a requester, with `from` a responder. */
  readonly options: ChannelOptions & { readonly to?: unknown; readonly from?: unknown };
  /** Number of messages of a requester. */
  readonly messages: number;
  readonly messageBytes: number;
  /** File in which a responder records the messages that it consumed. */
  readonly log?: string;
  /** It emits `reached` when it has sent, or consumed, the message with this number. */
  readonly reportAt?: number;
}

export interface HiPowerMemberOptions {
  readonly node: HiPowerNodeOptions;
  /** A listening socket that it inherits, for the mesh. */
  readonly fd?: number;
  readonly ends: readonly HiPowerEndOptions[];
}

/** A line of such a process. */
export interface HiPowerEvent {
  readonly event: 'ready' | 'reached' | 'generation' | 'done' | 'failed' | 'closed';
  readonly channel?: string;
  readonly code?: string;
  readonly message?: string;
  readonly memberId?: number;
  readonly reason?: string;
  readonly progress?: readonly Progress[];
  readonly generation?: number;
  readonly transports?: readonly string[];
}

/** The program of `start`, with its arguments. */
export function hiPowerCommand(options: HiPowerMemberOptions): [string, string[]] {
  return [process.execPath, [SCRIPT, JSON.stringify(options)]];
}

/** `hipower-member.mjs` in a process of its own. */
export class HiPowerProcess extends WatchedProcess<HiPowerEvent, 'event'> {
  /** `child` has a pipe for its standard output. */
  constructor(
    child: ChildProcess,
    private readonly options: HiPowerMemberOptions,
  ) {
    super(child, 'event', {
      name: `member ${options.node.id}`,
      parse: jsonLine<HiPowerEvent>,
      deadlineMs: patient(DEADLINE_MS),
    });
  }

  get id(): number {
    return this.options.node.id;
  }

  /** The first event of this kind of this channel. */
  eventOf(channel: string, name: HiPowerEvent['event']): Promise<HiPowerEvent> {
    return this.event(name, (event) => event.channel === channel);
  }

  /** It is connected with all its ends. */
  ready(): Promise<HiPowerEvent[]> {
    return Promise.all(this.options.ends.map(({ options }) => this.eventOf(options.channel, 'ready')));
  }

  /** An end failed with this code, and names that member; resolves with its account of that member's slots. */
  async failed(code: string, blamed: number, channel?: string): Promise<Progress> {
    const failed = channel === undefined ? this.event('failed') : this.eventOf(channel, 'failed');
    const { code: got, memberId, message, progress } = await failed;
    assert.deepEqual({ code: got, memberId }, { code, memberId: blamed }, message);
    return progress!.find((one) => one.memberId === blamed)!;
  }

  /** It exits after its node has closed. */
  async ends(): Promise<void> {
    await this.event('closed');
    assert.equal((await this.exited).code, 0);
  }

  /** How many messages of a sender, in this channel, it consumed; each came once, in order, from the first on. */
  consumed(from: number, channel?: string): number {
    const { log } = this.options.ends.find(
      ({ options }) =>
        [options.from].flat().includes(from) && (channel === undefined || options.channel === channel),
    )!;
    const lines = existsSync(log!) ? readFileSync(log!, 'utf8').split('\n').filter(Boolean) : [];
    const numbers = lines
      .filter((line) => line.startsWith(`${from} `))
      .map((line) => Number(line.split(' ')[1]));
    assert.deepEqual(numbers, [...numbers.keys()], `messages of member ${from} at member ${this.id}`);
    return numbers.length;
  }
}

/**
 * A requester's account of a lost responder is true: slots known to be
 * released were consumed, and no slot was consumed that was not sent.
 */
export function expectAccount({ delivered, released }: Progress, consumed: number): void {
  assert.ok(
    released <= consumed,
    `${released} slots are known to be released, and ${consumed} were consumed`,
  );
  assert.ok(delivered >= consumed, `${delivered} slots were written, and ${consumed} consumed`);
}
