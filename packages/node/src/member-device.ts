import { isIP } from 'node:net';
import type { Mesh, MeshAttributes, MeshPeer } from '@rdmc/mesh';
import { chooseDevice, type DeviceChoice, type OpenDeviceOptions } from '@rdmc/verbs';
import { agreeOnDevice, COMMON_DEVICE } from './device-agreement.js';
import { attributesOf, type DeviceFacts, ownFacts } from './device-facts.js';

/** The label of the secret that is derived from the mesh's key. Devices of members admit each other with it. */
const DEVICE_SECRET = 'rdmc device';

const COMPROMISE: DeviceChoice = {
  device: COMMON_DEVICE,
  kind: 'soft',
  reason: 'not all members have RDMA devices of the same kind',
  isAskedFor: false,
};

/** A member's device: its announcement in the mesh, and the device that it opens when it knows those of the others. */
export class MemberDevice {
  readonly #facts: DeviceFacts;

  private constructor(
    private readonly wanted: OpenDeviceOptions,
    /** Members come and go, so the kind of the device cannot be chosen by all of them together. */
    isLive: boolean,
    /** The device of this host, and the reason of the choice; the members may agree on another. */
    readonly choice: DeviceChoice,
  ) {
    const facts = ownFacts(wanted, choice);
    this.#facts = { ...facts, insists: facts.insists || isLive };
  }

  /**
   * Chooses among this host's devices. Call it once: devices may appear and disappear while the members join.
   * @throws VerbsError as `chooseDevice`, such as ERR_RDMC_UNKNOWN_DEVICE
   */
  static choose(device: OpenDeviceOptions | string = {}, isLive = false): MemberDevice {
    const wanted = typeof device === 'string' ? { device } : device;
    return new MemberDevice(wanted, isLive, chooseDevice(wanted));
  }

  /** @throws NodeError ERR_RDMC_DEVICE_MISMATCH unless that member and this one can use the device of the other */
  compare(ownId: number, other: Pick<MeshPeer, 'id' | 'attributes'>): void {
    agreeOnDevice(ownId, this.#facts, [other]);
  }

  /** The attributes to announce when this member joins the mesh. */
  get attributes(): MeshAttributes {
    return attributesOf(this.#facts);
  }

  /**
   * The device that this member opens, computed from the announcements of all members. A soft device listens at the
   * address of the member, and admits the members that the mesh admits.
   * @throws NodeError ERR_RDMC_DEVICE_MISMATCH with `memberId` and `field`
   */
  agree(mesh: Mesh): OpenDeviceOptions {
    const { wanted, choice } = this;
    const kind = agreeOnDevice(mesh.id, this.#facts, mesh.peers.values());
    // All members may have agreed on the soft device instead. An RDMA device is always the one chosen here.
    if (kind !== COMMON_DEVICE) return { ...wanted, choice };
    const own = mesh.members.find((member) => member.id === mesh.id)!;
    const key = wanted.insecure ? undefined : (wanted.key ?? mesh.secret(DEVICE_SECRET));
    const listen = wanted.listen ?? (isIP(own.host) ? { host: own.host } : undefined);
    return {
      ...wanted,
      device: kind,
      choice: choice.kind === 'soft' ? choice : COMPROMISE,
      // A mesh is without a key only if its options say `insecure`.
      ...(key ? { key } : { insecure: true }),
      ...(listen && { listen }),
    };
  }
}
