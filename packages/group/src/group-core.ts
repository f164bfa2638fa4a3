import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { Lifetime, type Subscription } from '@rdmc/common';
import type { MemoryRegion } from '@rdmc/verbs';
import type { CheckedGroupOptions } from './checked-group-options.js';
import { CloseBarrier } from './close-barrier.js';
import type { GroupEnvironment, GroupSlot } from './environment.js';
import { Formation } from './formation.js';
import { GroupMessenger } from './group-messenger.js';
import type { GroupReception, ReceptionPort } from './group-reception.js';
import { ManyReception } from './many/many-reception.js';
import { type Neighbourhood, neighbourhoodOf } from './neighbourhood.js';
import { Reception } from './reception.js';
import { RootSender } from './root-sender.js';
import { ArrivalReports } from './skew/arrival-reports.js';
import { ArrivalTable } from './skew/arrival-table.js';
import { type GrowthPort, RingGrowth } from './small/ring-growth.js';

/** `agreeing`: with stable delivery, a member has failed, and the survivors agree. `ending`: nothing is delivered any more. */
export type GroupState = 'forming' | 'open' | 'agreeing' | 'ending' | 'ended';

/** The parts of a group at this member, and its state. The session, the handling of failures and the end share them. */
export class GroupCore {
  readonly nonce = randomUUID();
  readonly isRoot: boolean;
  readonly sender: RootSender;
  readonly reception: GroupReception;
  readonly barrier: CloseBarrier;
  readonly formation: Formation;
  readonly neighbourhood: Neighbourhood;
  /** With `arrivals`: what this receiver tells the root, and what the root knows. */
  readonly reports: ArrivalReports | undefined;
  readonly arrivals: ArrivalTable | undefined;
  readonly lifetime = new Lifetime();
  readonly subscriptions: Subscription[] = [];
  /** Once the group is open. */
  growth: RingGrowth | undefined;
  messenger: GroupMessenger;
  counters: Float64Array;
  state: GroupState = 'forming';
  readonly #many: ManyReception | undefined;

  constructor(
    readonly environment: GroupEnvironment,
    readonly options: CheckedGroupOptions,
    readonly slot: GroupSlot,
    port: ReceptionPort,
  ) {
    const { memberId, link, device } = environment;
    const { members } = options;
    this.counters = slot.counters;
    this.isRoot = members[0] === memberId;
    if (options.arrivals && this.isRoot) this.arrivals = new ArrivalTable(members.slice(1));
    if (options.arrivals && !this.isRoot) this.reports = this.#reportsToRoot();
    this.neighbourhood = neighbourhoodOf(options, memberId);
    this.barrier = new CloseBarrier(members, memberId, options.senders);
    this.formation = new Formation(environment, options, this.nonce, slot, this.neighbourhood);
    const allocate = (byteLength: number): Promise<MemoryRegion> => environment.allocate(byteLength);
    const ports = { allocate, link, slot: slot.number };
    this.sender = new RootSender(options, device, () => this.formation.transports, ports);
    this.messenger = this.#messengerTo(new Map());
    this.#many = options.senders && new ManyReception(environment, options, slot.number, port);
    this.reception = this.#many ?? new Reception(environment, options, slot.number, port);
  }

  get memberId(): number {
    return this.environment.memberId;
  }

  get rootId(): number {
    return this.options.members[0]!;
  }

  /** Ids of the members that send. */
  get senders(): readonly number[] {
    return this.options.senders ?? this.options.members.slice(0, 1);
  }

  get isSender(): boolean {
    return this.senders.includes(this.memberId);
  }

  /** Whether this member receives messages: all do, except for a root. */
  get receives(): boolean {
    return this.#many !== undefined || !this.isRoot;
  }

  /** The creation has succeeded: the nonces of the others are known, and the rings exist. */
  opened(): void {
    this.messenger = this.#messengerTo(this.formation.nonces);
    const { small, rings, ringPlaces } = this.formation.links;
    const full = (): void => this.growth!.begin(this.memberId);
    this.growth = new RingGrowth(ringPlaces, this.#growthPort());
    if (small && this.isRoot) this.sender.useRing(small, full);
    else if (small && this.reception instanceof Reception) this.reception.useRing(small);
    if (rings) this.#many!.useRings(rings);
    if (rings?.own) this.sender.useRing(rings.own, full, this.#many!.published);
  }

  /** The member at the other end of a pair; behind all neighbours are the links for small messages, then those of the table. */
  memberAt(pair: number): number {
    const { neighbours } = this.neighbourhood;
    const { members } = this.options;
    const link = pair - neighbours.length;
    const { smallMembers } = this.formation.links;
    const { length } = smallMembers;
    if (link < 0) return members[neighbours[pair]!]!;
    if (link < length) return smallMembers[link]!;
    return members.filter((member) => member !== this.memberId)[link - length]!;
  }

  /** Whether the pair is a link of the table. */
  isTableLink(pair: number): boolean {
    return pair >= this.neighbourhood.neighbours.length + this.formation.links.smallMembers.length;
  }

  /** Nothing comes in any more, and the numbers of the group are free. */
  release(): void {
    for (const each of this.subscriptions) each.close();
    this.reports?.stop();
    // The next group uses the counters of the slot.
    this.counters = this.slot.counters.slice();
    this.slot.release();
  }

  #reportsToRoot(): ArrivalReports {
    return new ArrivalReports({
      now: () => performance.now(),
      send: (messages, ages) => this.messenger.arrived(this.rootId, messages, ages),
    });
  }

  #growthPort(): GrowthPort {
    const { commands } = this.environment.link;
    return {
      grow: (full) => commands.growSmall({ group: this.slot.number, ...full }),
      enlarge: (member, sender) => this.messenger.enlarge(member, sender),
      enlarged: (member, sender, ring) => this.messenger.enlarged(member, sender, ring),
      isOpen: () => this.state === 'open' || this.state === 'agreeing',
      use: ({ sender }, full) => this.#useFullRing(sender, full),
    };
  }

  #useFullRing(sender: number, full: Uint8Array): void {
    if (sender === this.memberId) {
      const at = this.sender.queue.growRing(full);
      this.#many?.grewOwn(full, at);
      this.sender.queue.roomMade();
    } else if (this.reception instanceof Reception) this.reception.growRing(full);
    else this.#many!.growRing(sender, full);
  }

  #messengerTo(nonces: ReadonlyMap<number, string>): GroupMessenger {
    return new GroupMessenger(this.environment.directory, this.options.id, this.nonce, nonces);
  }
}
