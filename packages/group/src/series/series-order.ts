/** Numbers of a series that a receiver does not get, both included. */
export interface SeriesGap {
  /** The first of them. */
  readonly from: number;
  /** The last of them. */
  readonly to: number;
}

/**
 * The numbers of the messages at one receiver of a series. The messages of the series have the numbers 0, 1, 2, …; each group
 * carries those from its `first` on. Groups follow one another: a later one may begin with messages that this receiver has, or
 * behind messages that it lacks.
 *
 *   group   first   messages of the series                      this receiver
 *   A       0       0 1 2 3 4                                   gets 0 1 2 3, then the group fails
 *   B       3             3 4 5                                 gets 4 5: it has 3
 *   C       8                     8 9                           is told that it lacks 6 and 7, gets 8 9
 */
export class SeriesOrder {
  /** The lowest number that was neither delivered nor named as missing; undefined: before the first group. */
  protected expected: number | undefined;
  /** The number of the next message of the group; undefined: there is no group. */
  protected at: number | undefined;
  /** Messages of this group from this number on are not delivered. */
  protected end = Number.POSITIVE_INFINITY;

  /** The number of the next message to deliver, or to name as missing; undefined: before the first group. */
  get next(): number | undefined {
    return this.expected;
  }

  /** A group begins with this number. The numbers that this receiver lacks before it, if any: a newcomer lacks none. */
  begin(first: number): SeriesGap | undefined {
    if (this.at !== undefined) throw new Error('the group before this one has not ended');
    const expected = this.expected ?? first;
    this.at = first;
    this.expected = Math.max(first, expected);
    return first > expected ? { from: expected, to: first - 1 } : undefined;
  }

  /** The group's next message: its number; undefined: it is not delivered, because this receiver has it or it was trimmed. */
  take(): number | undefined {
    const number = this.at!;
    this.at = number + 1;
    if (number < this.expected! || number >= this.end) return undefined;
    this.expected = number + 1;
    return number;
  }

  /** Of this group no message with this number or a higher one is delivered. */
  trim(end: number): void {
    if (this.at !== undefined) this.end = Math.min(this.end, end);
  }

  /** The group has ended, and all its messages were taken. */
  finish(): void {
    this.at = undefined;
    this.end = Number.POSITIVE_INFINITY;
  }
}
