import { NEWS_GAP_MS } from '../constants.js';
import type { RosterDelta } from './roster.js';

/**
 * Changes of the roster for all peers. The first one is sent at once, and those of the next few milliseconds together: where
 * hundreds join at once, a frame for each of them would be most of the introducer's work.
 */
export class NewsBatch {
  #entries: RosterDelta['entries'] = [];
  #marks: RosterDelta['marks'] = [];
  #timer: NodeJS.Timeout | undefined;

  /** @param send called with the changes since the last call, at least one */
  constructor(private readonly send: (news: RosterDelta) => void) {}

  add({ entries, marks }: RosterDelta): void {
    this.#entries = [...this.#entries, ...entries];
    this.#marks = [...this.#marks, ...marks];
    if (this.#timer === undefined) this.#sendAll();
  }

  /** Sends what waits. */
  flush(): void {
    this.#sendAll();
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #sendAll(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#entries.length + this.#marks.length === 0) return;
    const news = { entries: this.#entries, marks: this.#marks };
    this.#entries = [];
    this.#marks = [];
    this.#timer = setTimeout(() => this.#sendAll(), NEWS_GAP_MS);
    this.#timer.unref();
    this.send(news);
  }
}
