import { PollPolicy } from '@rdmc/dataplane/poll';
import { type Clock, Timer } from './clock.js';
import type { HostCosts } from './cluster.js';
import type { Preemptions } from './preemption.js';
import type { Processors } from './processors.js';

/** Completions that one turn of the thread takes. */
const COMPLETIONS_PER_TURN = 256;

/** Requests that members wrote in one turn; the doorbell at its end gives them to the NIC. */
export interface TurnWork {
  sends: number;
  receives: number;
  announcements: number;
  copiedBytes: number;
}

/** A member of a group, as its host's thread sees it. */
export interface HostedMember {
  readonly waitsForNeighbours: boolean;
  /** Writes all requests that are possible now. */
  advance(work: TurnWork): void;
  /** Gives the requests to the NIC. */
  ringDoorbell(): void;
}

/** A completion, or a command of the application. */
export interface Work {
  readonly member: HostedMember;
  /** Whether it wakes a thread that sleeps. */
  readonly solicited: boolean;
  take(): void;
}

/** What a host's thread did, in microseconds. */
export interface HostUse {
  readonly working: number;
  readonly polling: number;
  readonly wakeUps: number;
  readonly turns: number;
}

/**
 * The worker thread of one host: a FIFO server for the completions of all its groups (RDMC, section 4.2). A turn takes
 * what is there, advances the members that it concerns, and lasts as long as all of that costs. The shipped PollPolicy
 * decides whether the thread sleeps when something arrives.
 */
export class Host extends Timer {
  readonly #queue: Work[] = [];
  readonly #members: HostedMember[] = [];
  readonly #active = new Set<HostedMember>();
  readonly #policy: PollPolicy;
  #state: 'idle' | 'starting' | 'waiting' | 'working' = 'idle';
  #idleSince = 0;
  #working = 0;
  #polling = 0;
  #wakeUps = 0;
  #turns = 0;

  constructor(
    private readonly clock: Clock,
    private readonly costs: HostCosts,
    /** How long the thread polls after work, in milliseconds. */
    private readonly windowMs: number,
    private readonly preemptions: Preemptions,
    /** Those that all hosts share; `undefined` if each has its own. */
    private readonly processors: Processors | undefined,
  ) {
    super();
    this.#policy = new PollPolicy(windowMs, 0);
  }

  add(member: HostedMember): void {
    this.#members.push(member);
  }

  deliver(work: Work): void {
    this.#queue.push(work);
    if (this.#state !== 'idle') return;
    const { now } = this.clock;
    const asleep = this.#policy.maySleep(now / 1000);
    if (asleep && !work.solicited && this.#members.every((member) => member.waitsForNeighbours)) return;
    this.#polling += Math.min(now - this.#idleSince, this.windowMs * 1000);
    if (asleep) this.#wakeUps += 1;
    this.#start(asleep ? now + this.costs.wakeUp : now);
  }

  /** Use until `now`, with the polling since the last turn. */
  use(now: number): HostUse {
    const idle = this.#state === 'idle' ? Math.min(now - this.#idleSince, this.windowMs * 1000) : 0;
    return {
      working: this.#working,
      polling: this.#polling + idle,
      wakeUps: this.#wakeUps,
      turns: this.#turns,
    };
  }

  fire(): void {
    if (this.#state === 'starting') this.#ready();
    else if (this.#state === 'waiting') this.#turn();
    else this.#end();
  }

  #start(ready: number): void {
    this.#state = 'starting';
    const start = this.preemptions.start(ready);
    if (start === this.clock.now) this.#ready();
    else this.clock.schedule(this, start);
  }

  /** Begins a turn when a processor is free. */
  #ready(): void {
    if (this.processors === undefined || this.processors.take(this)) this.#turn();
    else this.#state = 'waiting';
  }

  #turn(): void {
    this.#state = 'working';
    this.#turns += 1;
    const work: TurnWork = { sends: 0, receives: 0, announcements: 0, copiedBytes: 0 };
    const taken = this.#queue.splice(0, COMPLETIONS_PER_TURN);
    for (const item of taken) {
      item.take();
      this.#active.add(item.member);
    }
    for (const member of this.#active) member.advance(work);
    const cost = turnCost(this.costs, taken.length, work);
    const { now } = this.clock;
    const end = this.preemptions.end(now, cost);
    this.#working += cost;
    if (end === now) this.#end();
    else this.clock.schedule(this, end);
  }

  #end(): void {
    this.#policy.worked(this.clock.now / 1000);
    for (const member of this.#active) member.ringDoorbell();
    this.#active.clear();
    this.#state = 'idle';
    this.#idleSince = this.clock.now;
    // Before the processor is given away: other threads have waited longer.
    if (this.#queue.length > 0) this.#start(this.clock.now);
    this.processors?.give();
  }
}

/** The processor time of a turn. */
export function turnCost(costs: HostCosts, completions: number, work: TurnWork): number {
  return (
    completions * costs.completion +
    (work.sends + work.receives) * costs.post +
    work.announcements * costs.announcement +
    (work.copiedBytes * costs.copyMiB) / 2 ** 20
  );
}
