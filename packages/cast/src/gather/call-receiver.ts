import { Deadline, onAbort } from '@rdmc/common';
import type { Target } from '../checked-cast-options.js';
import { CAST_PROTOCOL_VERSION } from '../constants.js';
import type { Invitation } from '../control/frames.js';
import { CastError } from '../errors.js';
import { SOFTWARE } from '../identity.js';
import { FetcherLink } from '../pull/fetcher-link.js';
import { type FetcherFrame, pullShapes, type ServerFrame } from '../pull/frames.js';
import { type Dialling, dial, resolveHosts } from '../sender/dial.js';
import { expectFrame } from '../sender/expect-frame.js';
import { asLinkError, silentReceiver } from '../sender/link-errors.js';

/** A receiver that takes part. */
export interface CalledReceiver {
  readonly link: FetcherLink;
  /** Distinguishes one receiver with two addresses from two receivers. */
  readonly instance: string;
}

/** Calls a receiver once, and invites it. @throws CastError */
export async function callReceiver(
  target: Target,
  dialling: Omit<Dialling, 'address'>,
  invitation: Invitation,
): Promise<CalledReceiver> {
  const { name } = target;
  const address = (await resolveHosts([target])).get(target.host)!;
  if (address instanceof CastError) throw address;
  const channel = await dial(target, { ...dialling, address });
  const { timeoutMs, signal } = dialling;
  // Limits the whole introduction.
  const deadline = new Deadline({ timeoutMs }, () => channel.destroy(silentReceiver(name, timeoutMs)));
  const forget = onAbort(signal, () => channel.destroy());
  const frames = channel[Symbol.asyncIterator]();
  try {
    channel.send({ type: 'call', version: CAST_PROTOCOL_VERSION, software: SOFTWARE });
    const { hostName, instance } = await expectFrame(frames, 'hello', name);
    channel.send(invitation);
    await expectFrame(frames, 'gathered', name);
    const pulled = channel.become<ServerFrame, FetcherFrame>(pullShapes.fetcher, frames);
    const link = new FetcherLink(pulled.channel, { hostName, name: '' }, name);
    void link.follow(pulled.frames);
    return { link, instance };
  } catch (error) {
    channel.destroy();
    throw asLinkError(error, name, 'ERR_RDMC_CAST_UNREACHABLE');
  } finally {
    deadline.clear();
    forget();
  }
}
