import { HEARTBEAT_MS, HEARTBEATS_IN_LIMIT, SENDER_HEARTBEAT_MS } from '../constants.js';
import { CastError } from '../errors.js';

/** A receiver of a cast, or a fetcher of a pull. */
export interface WatchedLink {
  readonly name: string;
  readonly alive: boolean;
  /** Defined when it has stored everything. */
  readonly done: object | undefined;
  /** How long it has sent nothing. */
  silentMs: number;
  readonly progress: {
    readonly receivedMessages: number;
    readonly partialBytes: number;
    readonly storedMessages: number;
    readonly writerBusyMs: number;
  };
  send(frame: { readonly type: 'pulse' }): void;
}

/** A writer that has done something within this time is active. */
const AT_WORK_MS = 1_000;

/**
 * Drops stalled receivers: silent ones, those whose writer makes no progress, and, when none makes progress although
 * there is something to send, the one that has received least. Time is counted in ticks, as `SilenceTimer` does, so
 * that a process which was itself stopped does not drop receivers. Also sends the sender's heartbeats.
 */
export class StallWatch<Link extends WatchedLink> {
  readonly #timer: NodeJS.Timeout;
  /** The other ends have the same limit: with a short one they expect more heartbeats. */
  readonly #heartbeatMs: number;
  #sinceHeartbeat = 0;
  #standstillMs = 0;
  #lastProgress = -1;

  constructor(
    private readonly limitMs: number,
    /** Those that may expect heartbeats, and send some: they change meanwhile. */
    private readonly links: () => readonly Link[],
    /** Those of the current stream. */
    private readonly receiving: () => readonly Link[],
    /** Whether a message is being sent to the receivers. */
    private readonly isSending: () => boolean,
    private readonly drop: (link: Link, error: CastError) => void,
  ) {
    this.#heartbeatMs = Math.min(SENDER_HEARTBEAT_MS, limitMs / HEARTBEATS_IN_LIMIT);
    this.#timer = setInterval(() => this.#tick(), HEARTBEAT_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #tick(): void {
    this.#sinceHeartbeat += HEARTBEAT_MS;
    const isHeartbeatDue = this.#sinceHeartbeat >= this.#heartbeatMs;
    if (isHeartbeatDue) this.#sinceHeartbeat = 0;
    const running = this.links().filter(({ alive, done }) => alive && done === undefined);
    for (const link of running) {
      if (isHeartbeatDue) link.send({ type: 'pulse' });
      link.silentMs += HEARTBEAT_MS;
      this.#judge(link);
    }
    const receiving = new Set(this.receiving());
    this.#lookForStandstill(running.filter((link) => receiving.has(link)));
  }

  #judge(link: Link): void {
    if (link.silentMs >= this.limitMs) this.#stalled(link, `has sent nothing for ${this.limitMs} ms`);
    else if (link.progress.writerBusyMs >= this.limitMs) {
      this.#stalled(link, `has stored nothing for ${this.limitMs} ms although it has data to store`);
    }
  }

  #lookForStandstill(running: readonly Link[]): void {
    let progress = 0;
    let storing = false;
    for (const { progress: each } of running) {
      progress += each.receivedMessages + each.partialBytes + each.storedMessages;
      storing ||= each.storedMessages < each.receivedMessages && each.writerBusyMs < AT_WORK_MS;
    }
    const moves = progress !== this.#lastProgress || storing || !this.isSending();
    this.#lastProgress = progress;
    this.#standstillMs = moves ? 0 : this.#standstillMs + HEARTBEAT_MS;
    if (this.#standstillMs < this.limitMs || running.length === 0) return;
    // One that has also been silent may be what the others wait for: it sends something, or it is dropped first.
    if (running.some(({ silentMs }) => silentMs >= this.limitMs / 2)) return;
    this.#standstillMs = 0;
    const last = running.reduce((least, link) => (hasLess(link, least) ? link : least));
    this.#stalled(last, `has received least, and no receiver has made progress for ${this.limitMs} ms`);
  }

  #stalled(link: Link, what: string): void {
    const message = `${link.name} ${what}; it was dropped, and the others continue`;
    this.drop(link, new CastError('ERR_RDMC_RECEIVER_STALLED', message, { receiver: link.name }));
  }
}

function hasLess({ progress: a }: WatchedLink, { progress: b }: WatchedLink): boolean {
  if (a.receivedMessages !== b.receivedMessages) return a.receivedMessages < b.receivedMessages;
  return a.partialBytes < b.partialBytes;
}
