import { isIP } from 'node:net';
import { DataPlane, type DataPlaneOptions, type ProtocolModule } from '@rdmc/dataplane';
import type { Mesh } from '@rdmc/mesh';
import type { OpenDeviceOptions } from '@rdmc/verbs';
import { PROTOCOL_NAME } from './records.js';

/** What the mesh's key is used for: to admit the devices of its members. */
const DEVICE_SECRET = 'rdmc device';

/** The part of this package that runs in a data plane's worker. */
export function tailwindProtocol(): ProtocolModule {
  return { name: PROTOCOL_NAME, module: new URL('./worker.js', import.meta.url) };
}

/**
 * Starts a data plane for logs and backups: its device listens where this member of the mesh does, and admits
 * whom the mesh admits.
 * @throws as `DataPlane.start`
 */
export function startPlane(
  mesh: Mesh,
  options: Omit<DataPlaneOptions, 'protocols' | 'device'> & { readonly device?: OpenDeviceOptions } = {},
): Promise<DataPlane> {
  const own = mesh.members.find((member) => member.id === mesh.id)!;
  const key = options.device?.key ?? mesh.secret(DEVICE_SECRET);
  const listen = options.device?.listen ?? (isIP(own.host) ? { host: own.host } : undefined);
  const device = { ...options.device, ...(key && { key }), ...(listen && { listen }) };
  return DataPlane.start({ ...options, device, protocols: [tailwindProtocol()] });
}
