import { MeshError } from '../errors.js';
import type { ResolvedLiveOptions } from '../options.js';
import type { Security } from '../security.js';
import type { Hellos } from './hellos.js';
import { IntroductionCall } from './introduction-call.js';
import type { Membership } from './membership.js';
import type { RosterEntry } from './roster.js';

export interface ShowContext {
  readonly options: ResolvedLiveOptions;
  readonly security: Security | undefined;
  readonly hellos: Hellos;
  /** Ends the attempt. */
  readonly signal: AbortSignal;
}

/** Shows this member to a peer that does not connect. The error of an attempt that failed; undefined: it did not. */
export async function showMember(
  { options, security, hellos, signal }: ShowContext,
  { self }: Membership,
  to: RosterEntry,
): Promise<MeshError | undefined> {
  try {
    const call = await IntroductionCall.dial({
      to,
      hello: hellos.introduction(to.id),
      security,
      maxFrameBytes: options.maxFrameBytes,
      signal,
      judge: (hello) => hellos.judgeClaim(hello),
    });
    await call.introduce({ entry: self, replace: true }).finally(() => call.close());
    return undefined;
  } catch (error) {
    return error instanceof MeshError ? error : undefined;
  }
}
