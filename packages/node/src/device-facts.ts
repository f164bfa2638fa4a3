// The attributes of the mesh with which a member announces its device:
//
//   rdmc.device      'soft', 'roce' or 'infiniband'; names such as 'mlx5_0' may differ from host to host
//   rdmc.insists     the member does not accept another kind
//   rdmc.transport   of the soft device: 'auto', 'shm' or 'tcp'
//   rdmc.host        the boot id: equal if and only if two processes are on the same running machine
import { readFileSync } from 'node:fs';
import type { MeshAttributes } from '@rdmc/mesh';
import { type DeviceChoice, networkOf, type OpenDeviceOptions } from '@rdmc/verbs';

export interface DeviceFacts {
  readonly device: string;
  readonly insists: boolean;
  readonly transport: string;
  readonly host: string;
}

export function ownFacts({ transport = 'auto' }: OpenDeviceOptions, choice: DeviceChoice): DeviceFacts {
  return { device: networkOf(choice), insists: choice.isAskedFor, transport, host: bootId() };
}

export function attributesOf({ device, insists, transport, host }: DeviceFacts): MeshAttributes {
  return { 'rdmc.device': device, 'rdmc.insists': insists, 'rdmc.transport': transport, 'rdmc.host': host };
}

/** Undefined: this member does not have a device. */
export function factsOf(attributes: MeshAttributes): DeviceFacts | undefined {
  if (attributes['rdmc.device'] === undefined) return undefined;
  return {
    device: String(attributes['rdmc.device']),
    insists: attributes['rdmc.insists'] === true,
    transport: String(attributes['rdmc.transport']),
    host: String(attributes['rdmc.host']),
  };
}

function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return 'unknown';
  }
}
