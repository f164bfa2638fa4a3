import { COUNTS_TIMEOUT_MS, DEVICE_EVENT_DELAY_MS } from './constants.js';
import { DeliveryCounts } from './delivery-counts.js';
import { GroupError } from './errors.js';
import { FailureInquiry } from './failure-inquiry.js';
import type { GroupAgreement } from './group-agreement.js';
import type { GroupCore } from './group-core.js';
import type { GroupEnd } from './group-end.js';
import type { Trouble } from './records.js';
import { errorOfVerdict } from './verdict-error.js';
import type { Suspicion, Verdict } from './wire-messages.js';
import { RELAYS_BROKEN } from './worker/troubles.js';

const PORT_ADVICE = 'check that the port of its RDMA device is active';

/** Finds out which member of an open group has failed, tells the others, and ends the group with that. */
export class GroupFailure {
  readonly #counts: DeliveryCounts;
  readonly #inquiry: FailureInquiry;
  /** Set once: stable delivery, and the failure handling, call each other. */
  agreement!: GroupAgreement;
  /** This member's own device does not work any more: it cannot agree. Harmless while no other member fails. */
  #own: Trouble | undefined;

  constructor(
    private readonly core: GroupCore,
    private readonly end: GroupEnd,
  ) {
    const { environment, options } = core;
    const receivers = options.senders ? options.members : options.members.slice(1);
    this.#counts = new DeliveryCounts(receivers, environment.memberId);
    this.#inquiry = new FailureInquiry(environment.mesh, options.id);
  }

  async verdictFor(asker: number): Promise<Verdict | Suspicion | null> {
    if (this.core.options.relay === 'device') await this.#examine(asker);
    return this.#inquiry.answer(asker);
  }

  /** The group's worker side has stopped, or a link of the table broke. */
  trouble(trouble: Trouble): void {
    const { core } = this;
    const { pair, kind, code, reason } = trouble;
    const isTable = pair !== -1 && core.isTableLink(pair);
    if (isTable) this.agreement.lose(core.memberAt(pair));
    const isOwn = pair === -1 || kind === 'own';
    if (isOwn) this.#own ??= trouble;
    const isAgreeing = core.state === 'agreeing' && isOwn;
    if (!isAgreeing && (core.state !== 'open' || core.barrier.ownPartDone)) return;
    if (kind === 'device') this.failedHere(code, reason);
    else if (kind === 'copy') this.failedHere(code, `incoming: ${reason}`);
    else if (kind === 'own') this.failedHere(code, `${reason}; ${PORT_ADVICE}`);
    else if (pair === -1) {
      this.failedHere('ERR_RDMC_POST_FAILED', `${reason}; keep regions open until their messages are sent`);
    } else if (kind === 'protocol') this.violated(core.memberAt(pair), reason);
    // With `relayed` as well: the member behind a device that relays may have got the block so, and says it.
    else void this.#investigate(core.memberAt(pair), code, reason, kind === 'flushed');
  }

  /** A member was lost, or left. */
  memberLost(member: number, reason: string): void {
    const { core } = this;
    this.#counts.lost(member);
    this.agreement.lose(member);
    if (!core.options.members.includes(member) || this.#isHarmless(member)) return;
    this.fail({ culprit: member, code: 'ERR_RDMC_MEMBER_LOST', reason }, true);
  }

  /**
   * Another member reports a failure. A member that has all messages and reports its own failure is treated as lost: the group
   * continues where that is harmless, and fails at all members where it is not. The verdict of a member that lacks messages
   * counts everywhere: it will not confirm.
   */
  failedElsewhere(from: number, { culprit, code, reason }: Verdict): void {
    const { core } = this;
    // With stable delivery, a member that is suspected cannot make the others suspect further ones.
    if (!core.options.members.includes(culprit) || this.agreement.suspects(from)) return;
    // Its row does not change any more, also where its failure is harmless.
    if (from === culprit) this.agreement.lose(culprit);
    const hadAll = from === culprit && core.barrier.hasStored(culprit);
    // Its number follows, unless it is lost before.
    if (from === culprit) this.#counts.speaks(culprit);
    if (!hadAll) this.fail({ culprit, code, reason }, false);
    else if (!this.#isHarmless(culprit)) this.fail({ culprit, code, reason }, true);
  }

  /** A member has said how many messages it has. */
  stopped(member: number, messages: number, from?: readonly number[]): void {
    this.#counts.stopped(member, messages, from);
  }

  /** A member broke the protocol. */
  violated(member: number, reason: string): void {
    this.fail({ culprit: member, code: 'ERR_RDMC_PROTOCOL', reason }, true);
  }

  failedHere(code: string, reason: string, cause?: unknown): void {
    this.fail({ culprit: this.core.memberId, code, reason }, true, { cause });
  }

  /**
   * The verdict is sent before the queue pairs break, so that the others do not take this member for the failed one.
   * @param here this member itself has found that it fails; else the others may have lost it
   */
  fail(verdict: Verdict, relay: boolean, here?: { readonly cause: unknown }): void {
    const { core, agreement } = this;
    const isOver = here !== undefined;
    if (core.state === 'agreeing' && !isOver) agreement.lose(verdict.culprit);
    if (core.state !== 'open' && !(core.state === 'agreeing' && isOver)) return;
    if (agreement.isOn && !isOver && this.#own) {
      this.failedHere(this.#own.code, this.#own.reason);
      return;
    }
    this.#inquiry.settle(verdict);
    core.environment.verdicts.remember(core.nonce, verdict);
    if (relay) core.messenger.failed(verdict);
    if (agreement.isOn && !isOver) {
      agreement.begin(verdict, [verdict.culprit]);
      return;
    }
    const { barrier } = core;
    for (const member of barrier.holders) this.#holds(member, barrier.totals!);
    this.#counts.failed(verdict.culprit);
    void this.end.finish(async () => {
      this.#tellDelivered();
      // Where this member has failed, and may close its node, the others are not waited for.
      const isOwn = verdict.culprit === core.memberId;
      const delivered = isOwn ? this.#counts.known : await this.#counts.collect(COUNTS_TIMEOUT_MS);
      const deliveredFrom = this.#counts.bySender(core.senders, core.options.order === 'total');
      const details = { cause: here?.cause, delivered, ...(core.options.senders && { deliveredFrom }) };
      return errorOfVerdict(core.options.id, core.memberId, verdict, details);
    });
  }

  /** This member does not wait for the end of the group any more. */
  giveUp(why: string): void {
    const { core } = this;
    if (core.state !== 'open' && core.state !== 'agreeing') return;
    const { pending } = core.barrier;
    const error = new GroupError(
      'ERR_RDMC_CLOSE_UNKNOWN',
      `Closing group ${core.options.id}: ${why} before members ${pending.join(', ')} confirmed that they have all messages; ` +
        'ask them whether they have',
      { missing: pending },
    );
    const lacksSome = !core.barrier.ownPartDone;
    // With stable delivery, the others may wait for this member's row.
    if (lacksSome || this.agreement.isOn) {
      const reason = 'it stopped waiting for the group to close';
      core.messenger.failed({ culprit: core.memberId, code: error.code, reason });
    }
    void this.end.finish(async () => {
      if (lacksSome) this.#tellDelivered();
      return error;
    });
  }

  /** That member has confirmed that it has all messages. */
  #holds(member: number, totals: readonly number[]): void {
    const { senders, options } = this.core;
    // These are numbers, and some have no message. A group with this order has an agreement.
    if (options.order === 'total') return;
    const others = totals.filter((_, index) => senders[index] !== member);
    const messages = others.reduce((sum, total) => sum + total, 0);
    this.#counts.stopped(member, messages, options.senders && totals);
  }

  /** This member's part is done, and that member has all messages as well. */
  #isHarmless(member: number): boolean {
    const { barrier } = this.core;
    return barrier.ownPartDone && barrier.hasStored(member);
  }

  /**
   * The device breaks the queue pair of a member for which relays wait, when the one of their blocks breaks; and it sends wrong
   * blocks on. So that member may ask before this member's worker has reported anything.
   */
  async #examine(asker: number): Promise<void> {
    const { core } = this;
    const { members } = core.options;
    const pair = core.neighbourhood.neighbours.indexOf(members.indexOf(asker));
    if (core.state !== 'open' || pair === -1) return;
    const group = core.slot.number;
    const origin = await core.environment.link.commands.brokenBehind({ group, pair }).catch(() => null);
    if (origin === null || origin === pair) return;
    this.trouble({
      ...{ group, pair: origin, kind: 'queue-pair', code: 'ERR_RDMC_MEMBER_LOST', reason: RELAYS_BROKEN },
    });
  }

  async #investigate(suspect: number, code: string, reason: string, isFlushed: boolean): Promise<void> {
    const { core } = this;
    // A removed device flushes its requests before its event arrives.
    const wait = isFlushed ? DEVICE_EVENT_DELAY_MS : 0;
    const verdict = await this.#inquiry.ask(suspect, core.messenger.nonceOf(suspect), code, reason, wait);
    // Meanwhile another verdict may have arrived, or the group may have closed.
    if (core.state !== 'open' || core.barrier.ownPartDone) return;
    if (verdict.culprit === suspect && core.environment.portIsDown()) {
      this.failedHere(code, `its port is down; ${PORT_ADVICE}`);
    } else this.fail(verdict, true);
  }

  /** Nothing is delivered here any more: the others learn what this member has. */
  #tellDelivered(): void {
    const { core } = this;
    if (!core.receives) return;
    const { delivered, deliveredFrom } = core.reception;
    core.messenger.stopped(delivered, deliveredFrom);
    this.#counts.stopped(core.memberId, delivered, deliveredFrom);
  }
}
