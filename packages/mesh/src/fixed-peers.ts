import type { Levels } from '@rdmc/common';
import type { MeshError } from './errors.js';
import type { MeshFailure } from './frames.js';
import { unreachableMember } from './join-errors.js';
import { MemberEvents } from './live/member-events.js';
import { MemberFacts } from './member-facts.js';
import type { MeshPeer } from './mesh-core.js';
import type { MeshAttributes, ResolvedOptions } from './options.js';

/** The parts of a HELLO that the application sees. */
interface Greeting {
  readonly attributes: MeshAttributes;
  readonly levels: Levels;
}

/** The other members of a fixed list: what they announced, and which of them have failed or left. */
export class FixedPeers {
  readonly failures = new MemberFacts<MeshFailure>();
  readonly leaves = new MemberFacts<number>();
  readonly events = new MemberEvents();
  readonly #greetings = new Map<number, Greeting>();
  #described: ReadonlyMap<number, MeshPeer> | undefined;

  /** `ended` is called for each member that has failed or left, after all of its news is published. */
  constructor(
    private readonly options: ResolvedOptions,
    private readonly ended: (member: number, reason: MeshError) => void,
  ) {}

  /** The member said HELLO. */
  introduced(member: number, greeting: Greeting): void {
    this.#greetings.set(member, greeting);
  }

  /** All of them have joined. */
  joined(): void {
    for (const member of this.options.peers.keys()) this.events.publish({ ...head(member), type: 'joined' });
  }

  /** All are known as failed before a listener is called for the first: a listener may send to the next one. */
  failed(failures: readonly MeshFailure[]): void {
    for (const failure of failures) {
      const { member, reason } = failure;
      this.options.logger.warn?.({ ...failure }, `mesh: member ${member} failed: ${reason}`);
    }
    this.failures.publish(failures.map((failure) => [failure.member, failure]));
    for (const { member, code, reason } of failures)
      this.events.publish({ ...head(member), type: 'lost', code, reason });
    for (const { member } of failures) this.ended(member, this.unreachable(member));
  }

  left(member: number): void {
    this.leaves.publish([[member, member]]);
    this.events.publish({ ...head(member), type: 'left' });
    this.ended(member, this.unreachable(member));
  }

  isGone(member: number): boolean {
    return this.failures.facts.has(member) || this.leaves.facts.has(member);
  }

  /** Why there is no link to a member. */
  unreachable(member: number): MeshError {
    return unreachableMember(member, this.options, this.failures.facts, this.leaves.facts);
  }

  /** By id; their attributes are known when all have joined. */
  get described(): ReadonlyMap<number, MeshPeer> {
    this.#described ??= this.#describe();
    return this.#described;
  }

  clearListeners(): void {
    for (const each of [this.failures, this.leaves, this.events]) each.clearListeners();
  }

  #describe(): ReadonlyMap<number, MeshPeer> {
    const peers = new Map<number, MeshPeer>();
    const { failures, leaves } = this;
    for (const { id, host, port } of this.options.peers.values()) {
      peers.set(id, {
        id,
        incarnation: 0,
        attributes: this.#greetings.get(id)?.attributes ?? {},
        levels: this.#greetings.get(id)?.levels,
        address: Object.freeze({ host, port }),
        get state() {
          if (failures.facts.has(id)) return 'failed';
          return leaves.facts.has(id) ? 'left' : 'connected';
        },
      });
    }
    return peers;
  }
}

/** Where the list is fixed, a member has one process, and one connection with each other. */
function head(member: number) {
  return { member, incarnation: 0, epoch: 1 };
}
