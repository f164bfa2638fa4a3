import { optionChecks } from '@rdmc/common';
import { DataPlane, type DataPlaneOptions, type ProtocolModule } from '@rdmc/dataplane';
import { Mesh, type MeshLogger, type MeshOptions, meshOptionNames } from '@rdmc/mesh';
import type { OpenDeviceOptions } from '@rdmc/verbs';
import { MemberError } from './errors.js';
import { MemberDevice } from './member-device.js';
import { together } from './together.js';

/** The options of a mesh, and those of the device and its worker. */
export interface MemberOptions extends Omit<MeshOptions, 'attributes'> {
  /** Which device: 'auto' (default), 'soft', or all options of `openDevice`. */
  readonly device?: OpenDeviceOptions | string;
  /** How long the worker polls after work before it sleeps, in milliseconds (default 50; 0: never polls). */
  readonly windowMs?: number;
}

/** A member that has joined. Who joined closes both. */
export interface JoinedMember {
  readonly mesh: Mesh;
  readonly plane: DataPlane;
}

const KNOWN = [...meshOptionNames.filter((name) => name !== 'attributes'), 'device', 'windowMs'];

const { onlyKnownOptions, signalOption } = optionChecks((code, message) => new MemberError(code, message));

/**
 * Joins the mesh, agrees on a device with the other members, opens it and starts the worker, which loads its protocols while
 * the members gather. Members may start in any order.
 *
 * @param where the call that the options were given to, for messages
 * @throws MemberError ERR_RDMC_UNKNOWN_OPTION, ERR_RDMC_INVALID_OPTION, ERR_RDMC_DEVICE_MISMATCH; MeshError as
 *   `Mesh.join`; VerbsError ERR_RDMC_UNKNOWN_DEVICE; DataPlaneError as `DataPlane.start`. Nothing is left open then
 */
export async function joinMember(
  where: string,
  options: MemberOptions,
  protocols: readonly ProtocolModule[],
): Promise<JoinedMember> {
  onlyKnownOptions(where, options, KNOWN);
  const { device, windowMs, signal: wish, ...meshOptions } = options;
  const signal = signalOption(where, wish);
  const own = MemberDevice.choose(device);
  const joined = await together(signal, (ended) => {
    const mesh = Mesh.join({ ...meshOptions, attributes: own.attributes, signal: ended });
    const agreed = mesh.then((joined) => own.agree(joined));
    agreed.catch(() => {}); // nobody waits for it where the plane's options are refused
    const plane = DataPlane.start({
      device: agreed,
      protocols,
      signal: ended,
      ...(windowMs !== undefined && { windowMs }),
      ...(options.logger && { logger: planeLogger(options.logger) }),
    });
    return { mesh, plane };
  });
  const { choice } = joined.plane.device;
  options.logger?.info?.(
    { id: joined.mesh.id, device: choice.device, reason: choice.reason },
    'member joined',
  );
  return joined;
}

/** The data plane's logger has both methods; those of the mesh's may be missing. */
function planeLogger(logger: MeshLogger): NonNullable<DataPlaneOptions['logger']> {
  return {
    debug: (details, message) => logger.debug?.(details, message),
    warn: (details, message) => logger.warn?.(details, message),
  };
}
