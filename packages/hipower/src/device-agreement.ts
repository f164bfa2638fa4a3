import { readFileSync } from 'node:fs';
import type { MeshAttributes, MeshPeer } from '@rdmc/mesh';
import { type DeviceChoice, networkOf, type OpenDeviceOptions } from '@rdmc/verbs';
import { HiPowerError } from './errors.js';

/** The device every member can use; others are used only where all have the same kind. */
const COMMON_DEVICE = 'soft';

/** What this member announces about its device: its kind, for names such as 'mlx5_0' may differ from host to host. */
export function deviceFacts(options: OpenDeviceOptions, choice: DeviceChoice): MeshAttributes {
  return {
    'rdmc.device': networkOf(choice),
    'rdmc.insists': choice.isAskedFor,
    'rdmc.transport': options.transport ?? 'auto',
    'rdmc.host': bootId(),
  };
}

/**
 * The kind of device all members open: the one all have, else the common one.
 * @throws HiPowerError ERR_RDMC_DEVICE_MISMATCH naming a member and both values
 */
export function agreeOnDevice(ownId: number, own: MeshAttributes, peers: Iterable<MeshPeer>): string {
  let kind = String(own['rdmc.device']);
  for (const { id, attributes } of peers) {
    compare(own, attributes, 'rdmc.transport', ownId, id);
    if (own['rdmc.transport'] === 'shm') compare(own, attributes, 'rdmc.host', ownId, id);
    if (attributes['rdmc.device'] === own['rdmc.device']) continue;
    const isFixed = [own, attributes].some(
      (a) => a['rdmc.insists'] === true && a['rdmc.device'] !== COMMON_DEVICE,
    );
    if (isFixed) compare(own, attributes, 'rdmc.device', ownId, id);
    kind = COMMON_DEVICE;
  }
  return kind;
}

function compare(own: MeshAttributes, theirs: MeshAttributes, name: string, ownId: number, id: number): void {
  if (own[name] === theirs[name]) return;
  throw new HiPowerError(
    'ERR_RDMC_DEVICE_MISMATCH',
    `${name.slice(5)} is '${String(own[name])}' at member ${ownId} and '${String(theirs[name])}' at member ${id}; ` +
      'give all members the same device options',
    { memberId: id, field: name.slice(5) },
  );
}

function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return 'unknown';
  }
}

/** Why it is the soft device: this member has no other, or not all members have one of the same kind. */
export function softChoice(own: DeviceChoice): DeviceChoice {
  if (own.kind === 'soft') return own;
  const reason = `not all members have a device as this one has: ${own.device}, ${own.reason}`;
  return { device: 'soft', kind: 'soft', reason, isAskedFor: false };
}
