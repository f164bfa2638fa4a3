import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { ChannelOptions, HiPowerNodeOptions, Progress } from '@rdmc/hipower';
import { patient } from './patience.js';

/** Found from `src`, and from `dist`, where the tests on RDMA devices are. */
const SCRIPT = fileURLToPath(new URL('../src/hipower-member.mjs', import.meta.url));
const DEADLINE_MS = 90_000;

/** One end of a channel. */
export interface HiPowerEndOptions {
  /** With `to` it is a requester, with `from` a responder. */
  readonly options: ChannelOptions & { readonly to?: unknown; readonly from?: unknown };
  /** A requester sends so many. */
  readonly messages: number;
  readonly messageBytes: number;
  /** Where a responder notes what it consumed. */
  readonly log?: string;
  /** It says `reached` when it sent, or consumed, the message of this number. */
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

/** What `start` is to run: a program and its arguments. */
export function hiPowerCommand(options: HiPowerMemberOptions): [string, string[]] {
  return [process.execPath, [SCRIPT, JSON.stringify(options)]];
}

/** `hipower-member.mjs` in a process of its own. */
export class HiPowerProcess {
  readonly events: HiPowerEvent[] = [];
  readonly #ended: Promise<unknown>;
  #over = false;

  /** `child` has a pipe for its standard output. */
  constructor(
    readonly child: ChildProcess,
    private readonly options: HiPowerMemberOptions,
  ) {
    createInterface({ input: child.stdout! }).on('line', (line) => {
      this.events.push(JSON.parse(line) as HiPowerEvent);
      child.emit('said');
    });
    this.#ended = once(child, 'close').then(() => {
      this.#over = true;
      child.emit('said');
    });
  }

  get id(): number {
    return this.options.node.id;
  }

  /** The first event of this kind, of this channel where one is named; rejects where it ends without, or is too long silent. */
  async event(name: HiPowerEvent['event'], channel?: string): Promise<HiPowerEvent> {
    const signal = AbortSignal.timeout(patient(DEADLINE_MS));
    for (;;) {
      const found = this.events.find(
        (one) => one.event === name && (channel === undefined || one.channel === channel),
      );
      if (found) return found;
      const last = JSON.stringify(this.events.at(-1));
      if (this.#over) throw new Error(`member ${this.id} ended without '${name}'; last it said ${last}`);
      await once(this.child, 'said', { signal }).catch(() => {
        throw new Error(`member ${this.id} did not say '${name}'; last it said ${last}`);
      });
    }
  }

  /** It is connected with all its ends. */
  ready(): Promise<HiPowerEvent[]> {
    return Promise.all(this.options.ends.map(({ options }) => this.event('ready', options.channel)));
  }

  /** An end failed with this code, and blames that member; resolves with its account of that member's slots. */
  async failed(code: string, blamed: number, channel?: string): Promise<Progress> {
    const { code: got, memberId, message, progress } = await this.event('failed', channel);
    assert.deepEqual({ code: got, memberId }, { code, memberId: blamed }, message);
    return progress!.find((one) => one.memberId === blamed)!;
  }

  /** It ends by itself, its node closed. */
  async ends(): Promise<void> {
    await this.event('closed');
    await this.#ended;
    assert.equal(this.child.exitCode, 0);
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.#ended;
  }

  /** How many messages of a sender it consumed; each came once, in order, from the first on. */
  consumed(from: number): number {
    const { log } = this.options.ends.find((end) => [end.options.from].flat().includes(from))!;
    const lines = existsSync(log!) ? readFileSync(log!, 'utf8').split('\n').filter(Boolean) : [];
    const numbers = lines
      .filter((line) => line.startsWith(`${from} `))
      .map((line) => Number(line.split(' ')[1]));
    assert.deepEqual(numbers, [...numbers.keys()], `messages of member ${from} at member ${this.id}`);
    return numbers.length;
  }
}

/**
 * What a requester says of a responder that is lost is true of the slots which that one consumed: what is known as
 * released was consumed, and nothing was that had not been sent.
 */
export function expectAccount({ delivered, released }: Progress, consumed: number): void {
  assert.ok(
    released <= consumed,
    `${released} slots are known to be released, and ${consumed} were consumed`,
  );
  assert.ok(delivered >= consumed, `${delivered} slots were written, and ${consumed} consumed`);
}
