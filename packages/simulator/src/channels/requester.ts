import { refreshLimit } from '@rdmc/hipower/machine';
import { Call, type Clock } from '../clock.js';
import type { ChannelLink } from './link.js';
import type { ChannelSetting } from './options.js';
import type { Thread } from './thread.js';

/** The share of free slots below which a requester reads P, as in `@rdmc/hipower`. */
const REFRESH_THRESHOLD = 0.5;

/** One requester: its free slots, and the links to its responders. */
export class Requester {
  readonly links: ChannelLink[] = [];
  readonly #free: number[];
  /** Responders that have not released a slot. */
  readonly #holders: Uint8Array;
  readonly #limit: number;
  /** When each message was due; when it was sent, if they are sent as fast as it goes. */
  readonly due: Float64Array;
  #sent = 0;
  #isFilling = false;

  constructor(
    private readonly setting: ChannelSetting,
    private readonly clock: Clock,
    private readonly thread: Thread,
  ) {
    const { slots, messages } = setting;
    this.#free = Array.from({ length: slots }, (_, index) => slots - 1 - index);
    this.#holders = new Uint8Array(slots);
    this.due = new Float64Array(messages);
    this.#limit = refreshLimit(slots, REFRESH_THRESHOLD);
  }

  freed(slot: number): void {
    this.#holders[slot]! -= 1;
    if (this.#holders[slot]! > 0) return;
    this.#free.push(slot);
    this.fill();
  }

  /** Sends the next message if it is due and a slot is free. */
  fill(): void {
    const { messages, costs } = this.setting;
    if (this.#free.length <= this.#limit) for (const link of this.links) link.refresh();
    if (this.#isFilling || this.#sent === messages || this.#free.length === 0) return;
    this.#isFilling = true;
    const due = this.#sent * this.setting.interval;
    const begin = (): void =>
      this.thread.work(costs.message, () => {
        this.#isFilling = false;
        this.#send();
        this.fill();
      });
    if (due > this.clock.now) this.clock.schedule(new Call(begin), due);
    else begin();
  }

  #send(): void {
    const slot = this.#free.pop()!;
    this.#holders[slot] = this.links.length;
    const sequence = this.#sent;
    this.#sent += 1;
    const { messages, interval } = this.setting;
    this.due[sequence] = interval > 0 ? sequence * interval : this.clock.now;
    const waits = this.#free.length === 0 || this.#sent * interval > this.clock.now;
    for (const link of this.links) link.send(slot, sequence, waits || this.#sent === messages);
  }
}
