import { codeOf } from '@rdmc/common';

/** Lost members in the errors of groups and channels, which have their ids. */
const LOSSES = ['ERR_RDMC_MEMBER_LOST', 'ERR_RDMC_HIPOWER_PEER_LOST'];

/** The lost member, if the error has one. */
export function lostMember(error: unknown): number | undefined {
  if (!LOSSES.includes(codeOf(error) ?? '')) return undefined;
  return (error as { memberId?: number }).memberId;
}

/** A crew that cannot continue, with the errors of its group and its channel. */
export class CrewFailure extends Error {
  override readonly name = 'CrewFailure';
  constructor(
    /** The error of each of them; undefined: it did not fail. */
    readonly group: unknown,
    readonly channel: unknown,
  ) {
    super('the crew failed', { cause: group ?? channel });
  }

  /** Ids of the members that were lost; empty if the failure is a different one. */
  get lost(): number[] {
    const named = [lostMember(this.group), lostMember(this.channel)];
    return [...new Set(named.filter((member) => member !== undefined))];
  }
}

/** A worker that was lost, with the errors that reported it. */
export interface Loss {
  /** Id of the worker. */
  readonly member: number;
  /** The step that was repeated without it. */
  readonly step: number;
  /** Code of the error that names it; null: it failed differently, or did not fail. */
  readonly group: string | null;
  /** The same of the channel's error. */
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
