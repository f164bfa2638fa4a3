import type { MeshPeer } from '@rdmc/mesh';
import { type DeviceFacts, factsOf } from './device-facts.js';
import { NodeError } from './errors.js';

/** The device that every member can use; others are used only if all members have the same kind. */
export const COMMON_DEVICE = 'soft';

/**
 * The kind of device that this member opens: the kind that all members have, else the common device. All members
 * compute the same result. Members without a device do not count.
 * @throws NodeError ERR_RDMC_DEVICE_MISMATCH; it names a member and both values
 */
export function agreeOnDevice(
  ownId: number,
  own: DeviceFacts,
  peers: Iterable<Pick<MeshPeer, 'id' | 'attributes'>>,
): string {
  let kind = own.device;
  for (const { id, attributes } of peers) {
    const theirs = factsOf(attributes);
    if (!theirs) continue;
    const refuse = (field: keyof DeviceFacts): never => {
      throw mismatch(field, [ownId, own], [id, theirs]);
    };
    if (theirs.transport !== own.transport) refuse('transport');
    if (own.transport === 'shm' && theirs.host !== own.host) refuse('host');
    if (theirs.device === own.device) continue;
    if ([own, theirs].some((facts) => facts.insists && facts.device !== COMMON_DEVICE)) refuse('device');
    kind = COMMON_DEVICE;
  }
  return kind;
}

type Side = [id: number, facts: DeviceFacts];

function mismatch(field: keyof DeviceFacts, [ownId, own]: Side, [id, theirs]: Side): NodeError {
  const what =
    field === 'host'
      ? `members ${ownId} and ${id} are on different hosts, and transport 'shm' needs one host`
      : `${field} is '${own[field]}' at member ${ownId} and '${theirs[field]}' at member ${id}`;
  return new NodeError('ERR_RDMC_DEVICE_MISMATCH', `${what}; give all members the same device options`, {
    memberId: id,
    field,
  });
}
