/*
 * The orders of a group of many senders. Pure: no I/O.
 *
 * Every sender numbers its messages from 0. In the order 'total', number r of all senders is round r: first that of sender 0,
 * then that of sender 1, and so on, as in Derecho (Jha et al., "Derecho: Fast State Machine Replication for Cloud Services",
 * ACM TOCS 36(2), 2019). So the order follows from the numbers alone, and members need no further agreement on it.
 *
 *   sender    0    1    2
 *   round 0   a0   b0   ·      · a number that its sender has skipped: it had nothing to send
 *   round 1   a1   ·    ·
 *   round 2   a2   b2   c2     order: a0 b0 a1 a2 b2 c2
 *
 * A sender that has nothing to send would hold up the others. So when it has seen a message of another one, it skips its own
 * numbers in front of that message: `owed`. These are Derecho's null messages; here one entry skips many. A member skips for
 * messages only, and not for skipped numbers. So the highest number grows with messages only, and idle members are silent.
 *
 * The frontier of a sender is the number up to which all members have everything from it; infinite when nothing follows.
 */

/** The heads of senders without a message that waits. */
export const NO_HEAD = Number.POSITIVE_INFINITY;

/** The rules of the order 'total'. Wrong variants override them, in tests. */
export class TotalRules {
  /**
   * The sender whose message is the next one; −1: it is not known, or not stable yet.
   * @param heads by sender: the number of its oldest message that was not delivered
   */
  next(heads: ArrayLike<number>, frontier: ArrayLike<number>): number {
    let first = 0;
    for (let sender = 1; sender < heads.length; sender += 1) {
      if (heads[sender]! < heads[first]!) first = sender;
    }
    const round = heads[first]!;
    if (round === NO_HEAD) return -1;
    for (let sender = 0; sender < heads.length; sender += 1) {
      if (frontier[sender]! < (sender <= first ? round + 1 : round)) return -1;
    }
    return first;
  }

  /**
   * The numbers that a sender has to skip now.
   * @param count numbers that it has used
   * @param ends by sender: the number behind the last message that has come from it
   */
  owed(own: number, count: number, ends: ArrayLike<number>): number {
    let needed = 0;
    for (let sender = 0; sender < ends.length; sender += 1) {
      needed = Math.max(needed, sender > own ? ends[sender]! : ends[sender]! - 1);
    }
    return Math.max(0, needed - count);
  }
}

/** The rules of the order 'sender': messages of different senders do not wait for one another. */
export class SenderRules extends TotalRules {
  override next(heads: ArrayLike<number>, frontier: ArrayLike<number>): number {
    for (let sender = 0; sender < heads.length; sender += 1) {
      if (heads[sender]! < frontier[sender]!) return sender;
    }
    return -1;
  }

  override owed(): number {
    return 0;
  }
}
