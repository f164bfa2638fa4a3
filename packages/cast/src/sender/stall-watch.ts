import { HEARTBEAT_MS } from '../constants.js';
import { CastError } from '../errors.js';
import type { ReceiverLink } from './receiver-link.js';

/** A writer that has done something within this time is at work. */
const AT_WORK_MS = 1_000;
const PULSE_MS = 1_000;

/**
 * Looks for receivers that stand still: silent ones, those whose writer does not get on, and, when none gets on
 * although there is something to send, the one that has least. Time is counted in ticks, as `SilenceTimer` does, so that a
 * process which was itself stopped blames nobody. Also says that the sender lives.
 */
export class StallWatch {
  readonly #timer: NodeJS.Timeout;
  #sincePulse = 0;
  #standstillMs = 0;
  #lastProgress = -1;

  constructor(
    private readonly limitMs: number,
    private readonly links: readonly ReceiverLink[],
    /** Whether something is on its way to the receivers. */
    private readonly isSending: () => boolean,
    private readonly drop: (link: ReceiverLink, error: CastError) => void,
  ) {
    this.#timer = setInterval(() => this.#tick(), HEARTBEAT_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #tick(): void {
    this.#sincePulse += HEARTBEAT_MS;
    const pulse = this.#sincePulse >= PULSE_MS;
    if (pulse) this.#sincePulse = 0;
    const running = this.links.filter(({ alive, done }) => alive && done === undefined);
    for (const link of running) {
      if (pulse) link.send({ type: 'pulse' });
      link.silentMs += HEARTBEAT_MS;
      this.#judge(link);
    }
    this.#lookForStandstill(running);
  }

  #judge(link: ReceiverLink): void {
    if (link.silentMs >= this.limitMs) this.#stalled(link, `has said nothing for ${this.limitMs} ms`);
    else if (link.progress.writerBusyMs >= this.limitMs) {
      this.#stalled(link, `has stored nothing for ${this.limitMs} ms although it has something to store`);
    }
  }

  #lookForStandstill(running: readonly ReceiverLink[]): void {
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
    this.#standstillMs = 0;
    const last = running.reduce((least, link) => (hasLess(link, least) ? link : least));
    this.#stalled(last, `has received least, and nothing has moved for ${this.limitMs} ms`);
  }

  #stalled(link: ReceiverLink, what: string): void {
    const message = `${link.name} ${what}; it was dropped, and the others go on`;
    this.drop(link, new CastError('ERR_RDMC_RECEIVER_STALLED', message, { receiver: link.name }));
  }
}

function hasLess({ progress: a }: ReceiverLink, { progress: b }: ReceiverLink): boolean {
  if (a.receivedMessages !== b.receivedMessages) return a.receivedMessages < b.receivedMessages;
  return a.partialBytes < b.partialBytes;
}
