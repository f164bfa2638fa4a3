import { Call, type Clock } from './clock.js';
import type { Flow, Link } from './flow.js';

/**
 * The token buckets of a network's links. Bytes for which all links of a flow have tokens leave when the flow starts. So each flow
 * that is left has a link without tokens, which limits it; a link that has tokens lets its flows use any rate until the last one is
 * taken.
 */
export class Shaping {
  /** Of links whose flows use more than the rate: the time of the last token. */
  readonly #ends = new Map<Link, Call>();

  constructor(
    private readonly clock: Clock,
    /** The rates of the link's flows must be computed again. */
    private readonly changed: (link: Link) => void,
  ) {}

  /** Gives a new flow what tokens there are, before any flow that starts later. Returns whether all its bytes have left. */
  covers(flow: Flow): boolean {
    const { now } = this.clock;
    let bytes = flow.bytes;
    for (const { bucket } of flow.path) {
      if (bucket === undefined) return false;
      bytes = Math.min(bytes, bucket.tokens(now));
    }
    for (const { bucket } of flow.path) bucket!.take(bytes, now);
    flow.leaveAtOnce(bytes);
    return bytes === flow.bytes;
  }

  /** Before rates are computed: what the links let through now. */
  open(links: readonly Link[]): void {
    for (const link of links) {
      if (link.bucket === undefined) continue;
      link.limit = link.bucket.tokens(this.clock.now) > 0 ? Number.POSITIVE_INFINITY : link.capacity;
    }
  }

  /** After rates were computed: how long the tokens last. */
  plan(links: readonly Link[]): void {
    for (const link of links) {
      if (link.bucket === undefined) continue;
      const use = link.flows.reduce((sum, { rate }) => sum + rate, 0);
      this.#planEnd(link, link.bucket.setUse(use, this.clock.now));
    }
  }

  #planEnd(link: Link, at: number): void {
    const known = this.#ends.get(link);
    if (at === Number.POSITIVE_INFINITY) {
      if (known) this.clock.cancel(known);
      return;
    }
    const end = known ?? new Call(() => this.#end(link));
    if (known === undefined) this.#ends.set(link, end);
    this.clock.schedule(end, at);
  }

  #end(link: Link): void {
    // What rounding has left would be a second end in the same instant.
    link.bucket!.take(Number.POSITIVE_INFINITY, this.clock.now);
    this.changed(link);
  }
}
