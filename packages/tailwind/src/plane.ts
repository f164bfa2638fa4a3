import { DataPlane, type DataPlaneOptions, type ProtocolModule } from '@rdmc/dataplane';
import { MemberDevice } from '@rdmc/member';
import type { Mesh } from '@rdmc/mesh';
import type { OpenDeviceOptions } from '@rdmc/verbs';
import { PROTOCOL_NAME } from './records.js';

/** Options of a data plane for logs and backups. */
export interface PlaneOptions extends Omit<DataPlaneOptions, 'protocols' | 'device'> {
  /** As for `openDevice`; or a device whose `attributes` were announced when the mesh was joined: all members agree on one kind then. */
  readonly device?: OpenDeviceOptions | string | MemberDevice;
}

/** The part of this package that runs in a data plane's worker. */
export function tailwindProtocol(): ProtocolModule {
  return { name: PROTOCOL_NAME, module: new URL('./worker.js', import.meta.url) };
}

/**
 * Starts a data plane for logs and backups: its device listens where this member of the mesh does, and admits
 * whom the mesh admits.
 * @throws as `DataPlane.start`; MemberError ERR_RDMC_DEVICE_MISMATCH
 */
export async function startPlane(mesh: Mesh, options: PlaneOptions = {}): Promise<DataPlane> {
  const { device, ...others } = options;
  const own = device instanceof MemberDevice ? device : MemberDevice.choose(device);
  return DataPlane.start({ ...others, device: own.agree(mesh), protocols: [tailwindProtocol()] });
}
