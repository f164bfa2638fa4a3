import { MAX_ROSTER_MARKS } from '../constants.js';
import type { MeshFailure } from '../frames.js';
import { MemberFacts } from '../member-facts.js';
import type { MeshLogger } from '../options.js';
import type { MemberEvent } from './member-event.js';
import { MemberEvents } from './member-events.js';

/**
 * What the application is told of its peers: the events in order, and beside them the peers that are lost or have left now.
 * Events are announced after the step that made them, so that a listener sees the state after the step.
 */
export class Announcements {
  readonly failures = new MemberFacts<MeshFailure>();
  readonly leaves = new MemberFacts<number>();
  readonly events = new MemberEvents();
  readonly #waiting: MemberEvent[] = [];
  #steps = 0;

  constructor(
    private readonly id: number,
    private readonly logger: MeshLogger,
  ) {}

  /** Runs a step; what it makes is announced at its end, or at the end of the step around it. */
  step<T>(act: () => T): T {
    this.#steps += 1;
    try {
      return act();
    } finally {
      this.#steps -= 1;
      if (this.#steps === 0) this.#publishAll();
    }
  }

  add(event: MemberEvent): void {
    this.#waiting.push(event);
  }

  /** The end of a connection is known at once: calls within the step already get its error. */
  remember(event: MemberEvent): void {
    const { member } = event;
    if (event.type === 'lost') this.failures.facts.set(member, this.#failureOf(event));
    if (event.type !== 'left') return;
    this.failures.facts.delete(member);
    this.leaves.facts.set(member, member);
    const [oldest] = this.leaves.facts.keys();
    if (this.leaves.facts.size > MAX_ROSTER_MARKS) this.leaves.facts.delete(oldest!);
  }

  clearListeners(): void {
    this.failures.clearListeners();
    this.leaves.clearListeners();
    this.events.clearListeners();
  }

  /** A listener may cause a further step: its events come behind those that wait. */
  #publishAll(): void {
    this.#steps += 1;
    for (let event = this.#waiting.shift(); event !== undefined; event = this.#waiting.shift()) {
      this.#publish(event);
    }
    this.#steps -= 1;
  }

  #publish(event: MemberEvent): void {
    const { member, type } = event;
    this.logger.info?.({ ...event }, `mesh: member ${member} ${type}`);
    if (type === 'joined') {
      this.failures.facts.delete(member);
      this.leaves.facts.delete(member);
    }
    this.events.publish(event);
    if (type === 'lost') this.failures.publish([[member, this.#failureOf(event)]]);
    if (type === 'left') this.leaves.publish([[member, member]]);
  }

  #failureOf({ member, code, reason }: Extract<MemberEvent, { type: 'lost' }>): MeshFailure {
    return { member, code, reason, reporter: this.id };
  }
}
