import { Call, type Clock } from './clock.js';
import type { Flow, Link } from './flow.js';
import { type Component, componentOf, componentsOf, fill } from './max-min.js';
import { Shaping } from './shaping.js';

/** Components of at most this many flows are recomputed after every change. */
const MOST_EXACT_FLOWS = 64;
/** A rate that differs by less is the same: rounding does not move the end of a flow. */
const SAME_RATE = 1e-12;

/**
 * Flows that share links max-min fairly. When flows start or end, only the flows that are connected with them get new
 * rates. With several sends per port that is soon every flow; components of more than 64 flows are then recomputed in
 * rounds, at most once in `roundTime`. Until its first round a flow has rate 0.
 */
export class Network {
  readonly #changed: Link[] = [];
  /** Links that wait for a round. */
  #waiting: Link[] = [];
  #lastRound = Number.NEGATIVE_INFINITY;
  readonly #round = new Call(() => this.#runRound());
  readonly #shaping: Shaping;
  active = 0;

  constructor(
    private readonly clock: Clock,
    /** At most this time passes between a change in a large component and its new rates, in microseconds. */
    private readonly roundTime: number,
  ) {
    this.#shaping = new Shaping(clock, (link) => this.#mark(link));
  }

  start(flow: Flow): void {
    this.active += 1;
    if (this.#shaping.covers(flow)) {
      // Its end, in this instant, says that its links have changed.
      this.clock.schedule(flow, this.clock.now);
      return;
    }
    for (const link of flow.path) {
      flow.places.push(link.flows.length);
      link.flows.push(flow);
      this.#mark(link);
    }
  }

  /** Called by the owner of a flow whose timer has fired. */
  end(flow: Flow): void {
    this.active -= 1;
    flow.path.forEach((link, index) => {
      const place = flow.places[index];
      // A flow that was covered by tokens has no place.
      if (place !== undefined) this.#leave(link, place);
      link.bytes += flow.bytes;
      link.ended += flow.blocks;
      this.#mark(link);
    });
  }

  /** Computes the rates that changed. Called after the last event of an instant. */
  settle(): void {
    if (this.#changed.length === 0) return;
    for (const link of this.#changed) {
      if (!link.changed || this.#settleSimple(link)) continue;
      const component = componentOf(link, MOST_EXACT_FLOWS);
      if (component === undefined) {
        this.#waiting.push(link);
      } else {
        for (const reached of component.links) reached.changed = false;
        this.#compute(component);
      }
    }
    this.#changed.length = 0;
    if (this.#waiting.length > 0 && this.#round.index === -1) this.#planRound();
  }

  /** The usual cases, quickly: a link without flows, and a flow that shares no link; without buckets. Returns whether it was one of them. */
  #settleSimple(link: Link): boolean {
    if (link.bucket !== undefined) return false;
    const [flow] = link.flows;
    if (flow === undefined) {
      link.changed = false;
      return true;
    }
    let rate = Number.POSITIVE_INFINITY;
    for (const { flows, capacity, bucket } of flow.path) {
      if (flows.length !== 1 || bucket !== undefined) return false;
      rate = Math.min(rate, capacity);
    }
    for (const reached of flow.path) reached.changed = false;
    this.#setRate(flow, rate);
    return true;
  }

  #planRound(): void {
    const at = this.#lastRound + this.roundTime;
    if (at <= this.clock.now) this.#runRound();
    else this.clock.schedule(this.#round, at);
  }

  #runRound(): void {
    this.#lastRound = this.clock.now;
    const component = componentsOf(this.#waiting);
    for (const link of component.links) link.changed = false;
    this.#waiting = [];
    this.#compute(component);
  }

  #compute(component: Component): void {
    this.#shaping.open(component.links);
    fill(component, this.#setRate);
    this.#shaping.plan(component.links);
  }

  #mark(link: Link): void {
    if (link.changed) return;
    link.changed = true;
    this.#changed.push(link);
  }

  #leave(link: Link, place: number): void {
    const last = link.flows.pop()!;
    if (place === link.flows.length) return;
    link.flows[place] = last;
    last.places[last.path.indexOf(link)] = place;
  }

  readonly #setRate = (flow: Flow, rate: number): void => {
    if (Math.abs(rate - flow.rate) <= SAME_RATE * rate) return;
    this.clock.schedule(flow, flow.setRate(rate, this.clock.now));
  };
}
