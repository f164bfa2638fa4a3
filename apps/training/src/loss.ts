import { codeOf } from '@rdmc/common';

/** How groups and channels say that a member is gone: with its id. */
const LOSSES = ['ERR_RDMC_MEMBER_LOST', 'ERR_RDMC_HIPOWER_PEER_LOST'];

/** The member that was lost, where that is what an error says. */
export function lostMember(error: unknown): number | undefined {
  if (!LOSSES.includes(codeOf(error) ?? '')) return undefined;
  return (error as { memberId?: number }).memberId;
}

/** A crew that cannot go on, as its group and its channel say. */
export class CrewFailure extends Error {
  override readonly name = 'CrewFailure';
  constructor(
    /** What each of them failed with; undefined: it did not. */
    readonly group: unknown,
    readonly channel: unknown,
  ) {
    super('the crew failed', { cause: group ?? channel });
  }

  /** Ids of the members that were lost; empty where something else failed. */
  get lost(): number[] {
    const named = [lostMember(this.group), lostMember(this.channel)];
    return [...new Set(named.filter((member) => member !== undefined))];
  }
}

/** A worker that was lost, and how the trainer heard. */
export interface Loss {
  readonly member: number;
  /** The step that was repeated without it. */
  readonly step: number;
  /** Code of the error that names it; null: it failed otherwise, or not at all. */
  readonly group: string | null;
  readonly channel: string | null;
}

export function lossesOf(failure: CrewFailure, step: number): Loss[] {
  const code = (error: unknown, member: number): string | null =>
    lostMember(error) === member ? codeOf(error)! : null;
  return failure.lost.map((member) => ({
    member,
    step,
    group: code(failure.group, member),
    channel: code(failure.channel, member),
  }));
}
