import { after, type Clock } from './clock.js';
import type { HostedMember, TurnWork, Work } from './host.js';

/** Takes completions for a member: its host's thread, or its NIC. */
export interface Executor {
  deliver(work: Work): void;
}

/**
 * The protocol on the NIC (CORE-Direct, RDMC section 5.2.3): a completion releases the sends that waited for it after a
 * fixed time. The host's thread takes no part, so its preemption does not delay them.
 */
export class NicExecutor implements Executor {
  constructor(
    private readonly clock: Clock,
    private readonly release: number,
  ) {}

  deliver({ member, take }: Work): void {
    after(this.clock, this.release, () => {
      take();
      advanceNow(member);
    });
  }
}

function advanceNow(member: HostedMember): void {
  const work: TurnWork = { sends: 0, receives: 0, announcements: 0, copiedBytes: 0 };
  member.advance(work);
  member.ringDoorbell();
}
