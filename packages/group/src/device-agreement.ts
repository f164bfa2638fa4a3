import { readFileSync } from 'node:fs';
import type { MeshAttributes, MeshPeer } from '@rdmc/mesh';
import { type DeviceChoice, networkOf, type OpenDeviceOptions } from '@rdmc/verbs';
import { GroupError } from './errors.js';

/** The device every member can use; others are used only where all have the same kind. */
const COMMON_DEVICE = 'soft';

/** What a member announces about its device when it joins. */
export interface DeviceFacts {
  /** Its kind: 'soft', 'roce' or 'infiniband'. Names such as 'mlx5_0' may differ from host to host. */
  readonly device: string;
  /** It takes no other kind. */
  readonly insists: boolean;
  readonly transport: string;
  /** Equal exactly for processes of one running machine. */
  readonly host: string;
}

/** The device options of a node, in long form. */
export function deviceOptions(device: OpenDeviceOptions | string | undefined): OpenDeviceOptions {
  return typeof device === 'string' ? { device } : (device ?? {});
}

export function ownFacts(options: OpenDeviceOptions, choice: DeviceChoice): DeviceFacts {
  const { transport = 'auto' } = options;
  return { device: networkOf(choice), insists: choice.isAskedFor, transport, host: bootId() };
}

export function attributesOf({ device, insists, transport, host }: DeviceFacts): MeshAttributes {
  return { 'rdmc.device': device, 'rdmc.insists': insists, 'rdmc.transport': transport, 'rdmc.host': host };
}

/**
 * The kind of device this member opens: the one all have, else the common one.
 * @throws GroupError ERR_RDMC_DEVICE_MISMATCH naming a member and both values
 */
export function agreeOnDevice(ownId: number, own: DeviceFacts, peers: Iterable<MeshPeer>): string {
  let kind = own.device;
  for (const { id, attributes } of peers) {
    const theirs = factsOf(attributes);
    if (theirs.transport !== own.transport) {
      throw mismatch(
        `transport is '${own.transport}' at member ${ownId} and '${theirs.transport}' at member ${id}`,
      );
    }
    if (own.transport === 'shm' && theirs.host !== own.host) {
      throw mismatch(`members ${ownId} and ${id} are on different hosts, and transport 'shm' needs one host`);
    }
    if (theirs.device === own.device) continue;
    const stubborn = [own, theirs].some((facts) => facts.insists && facts.device !== COMMON_DEVICE);
    if (stubborn) {
      throw mismatch(`device is '${own.device}' at member ${ownId} and '${theirs.device}' at member ${id}`);
    }
    kind = COMMON_DEVICE;
  }
  return kind;
}

function factsOf(attributes: MeshAttributes): DeviceFacts {
  return {
    device: String(attributes['rdmc.device']),
    insists: attributes['rdmc.insists'] === true,
    transport: String(attributes['rdmc.transport']),
    host: String(attributes['rdmc.host']),
  };
}

function mismatch(what: string): GroupError {
  return new GroupError('ERR_RDMC_DEVICE_MISMATCH', `${what}; give all members the same device options`);
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
