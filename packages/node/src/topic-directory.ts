import type { Subscription } from '@rdmc/common';
import type { Mesh } from '@rdmc/mesh';

/** A receiver of a topic's messages, such as a group or one end of a channel. Its subject identifies it. */
export interface Participant<Message> {
  /** Takes a message of another member. False if the message is for a later participant of the same subject. */
  take(from: number, message: Message): boolean;
}

/** A topic, and the rules for messages that wait for a participant that does not exist yet. */
export interface Topic<Message, Subject extends string | number> {
  /** Name of the mesh topic. */
  readonly topic: string;
  /** Undefined for a malformed message; it is dropped. */
  parse(body: unknown): Message | undefined;
  /** What the message is about: the key of its participant. */
  subjectOf(message: Message): Subject;
  /** Whether the message waits. The latest one of each member and subject is kept. */
  waits(message: Message): boolean;
  /** Whether the message withdraws the waiting one of the same member and subject. */
  withdraws(message: Message, waiting: Message): boolean;
  /** The most messages of one member that wait; further ones are dropped. */
  readonly maxWaiting: number;
}

/** Errors of `mesh.send` when the member was lost after the check of its state. */
const GONE = new Set<unknown>([
  'ERR_RDMC_MESH_CLOSED',
  'ERR_RDMC_MESH_MEMBER_LOST',
  'ERR_RDMC_MESH_MEMBER_LEFT',
]);

/**
 * Dispatches the messages of one mesh topic to their participants. Members start in any order, so the first message to
 * a participant that this member has not created yet waits here.
 */
export class TopicDirectory<Message, Subject extends string | number> {
  readonly #participants = new Map<Subject, Participant<Message>>();
  readonly #waiting = new Map<Subject, Map<number, Message>>();
  /** The number of waiting messages by member. */
  readonly #counts = new Map<number, number>();
  /** For members that this one knows and is not connected to yet: they have just joined, or this one has. */
  readonly #early = new Map<number, Message[]>();
  readonly #subscriptions: readonly Subscription[];

  constructor(
    private readonly mesh: Mesh,
    private readonly topic: Topic<Message, Subject>,
  ) {
    this.#subscriptions = [
      mesh.onMessage(topic.topic, (from, body) => this.#take(from, body)),
      mesh.onFailure(({ member }) => this.#forget(member)),
      mesh.onLeave((member) => this.#forget(member)),
      mesh.onMember(({ type, member }) => {
        if (type === 'joined') this.#sendEarly(member);
      }),
    ];
  }

  /** Registers the participant. False if the subject is taken. */
  register(subject: Subject, participant: Participant<Message>): boolean {
    if (this.#participants.has(subject)) return false;
    this.#participants.set(subject, participant);
    return true;
  }

  /** Removes the participant, if it is the registered one. */
  unregister(subject: Subject, participant: Participant<Message>): void {
    if (this.#participants.get(subject) === participant) this.#participants.delete(subject);
  }

  /** Removes and returns the messages that wait for a subject, by member. */
  takeWaiting(subject: Subject): ReadonlyMap<number, Message> {
    const waiting = this.#waiting.get(subject) ?? new Map<number, Message>();
    for (const from of [...waiting.keys()]) this.#count(from, -1);
    this.#waiting.delete(subject);
    return waiting;
  }

  /**
   * Sends to a member that is connected. Where members come and go, messages to one that was not connected yet wait for that,
   * at most `maxWaiting` of the topic. The mesh reports the loss of other members.
   */
  send(to: number, message: Message): void {
    if (this.mesh.peers.get(to)?.state === 'connected') this.#transmit(to, message);
    else if (this.#isExpected(to)) this.#keepEarly(to, message);
  }

  /** Ends the subscription to the topic and drops waiting messages. */
  close(): void {
    for (const each of this.#subscriptions) each.close();
    this.#waiting.clear();
    this.#early.clear();
  }

  #isExpected(member: number): boolean {
    const { mesh } = this;
    return mesh.incarnation > 0 && mesh.peers.has(member) && !mesh.failed.has(member);
  }

  #keepEarly(to: number, message: Message): void {
    const early = this.#early.get(to) ?? [];
    if (early.length < this.topic.maxWaiting) early.push(message);
    this.#early.set(to, early);
  }

  #sendEarly(to: number): void {
    const early = this.#early.get(to) ?? [];
    this.#early.delete(to);
    for (const message of early) this.send(to, message);
  }

  #transmit(to: number, message: Message): void {
    try {
      this.mesh.send(to, this.topic.topic, message);
    } catch (error) {
      if (!GONE.has((error as { code?: unknown }).code)) throw error;
    }
  }

  #take(from: number, body: unknown): void {
    const message = this.topic.parse(body);
    if (message === undefined) return;
    const subject = this.topic.subjectOf(message);
    if (this.#participants.get(subject)?.take(from, message)) return;
    const waiting = this.#waiting.get(subject)?.get(from);
    if (this.topic.waits(message)) this.#keep(from, subject, message);
    else if (waiting !== undefined && this.topic.withdraws(message, waiting)) this.#drop(from, subject);
  }

  #keep(from: number, subject: Subject, message: Message): void {
    const waiting = this.#waiting.get(subject) ?? new Map<number, Message>();
    if (!waiting.has(from)) {
      if ((this.#counts.get(from) ?? 0) >= this.topic.maxWaiting) return;
      this.#count(from, 1);
    }
    waiting.set(from, message);
    this.#waiting.set(subject, waiting);
  }

  #drop(from: number, subject: Subject): void {
    const waiting = this.#waiting.get(subject)!;
    if (!waiting.delete(from)) return;
    this.#count(from, -1);
    if (waiting.size === 0) this.#waiting.delete(subject);
  }

  #forget(member: number): void {
    this.#early.delete(member);
    for (const subject of [...this.#waiting.keys()]) this.#drop(member, subject);
  }

  #count(from: number, by: number): void {
    this.#counts.set(from, (this.#counts.get(from) ?? 0) + by);
  }
}
