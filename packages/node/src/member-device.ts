import { isIP } from 'node:net';
import type { Mesh, MeshAttributes } from '@rdmc/mesh';
import { chooseDevice, type DeviceChoice, type OpenDeviceOptions } from '@rdmc/verbs';
import { agreeOnDevice, COMMON_DEVICE } from './device-agreement.js';
import { attributesOf, type DeviceFacts, ownFacts } from './device-facts.js';

/** What the mesh's key is used for here: to admit the devices of its members. */
const DEVICE_SECRET = 'rdmc device';

const COMPROMISE: DeviceChoice = {
  device: COMMON_DEVICE,
  kind: 'soft',
  reason: 'not all members have RDMA devices of one kind',
  isAskedFor: false,
};

/** A member's device: what it announces in the mesh, and what it opens when it knows the others'. */
export class MemberDevice {
  readonly #facts: DeviceFacts;

  private constructor(
    private readonly wanted: OpenDeviceOptions,
    /** What this host has, and why it was taken; the members may agree on another. */
    readonly choice: DeviceChoice,
  ) {
    this.#facts = ownFacts(wanted, choice);
  }

  /**
   * Chooses among this host's devices. Once: devices may come and go while the members gather.
   * @throws VerbsError ERR_RDMC_UNKNOWN_DEVICE and its kin, as `chooseDevice`
   */
  static choose(device: OpenDeviceOptions | string = {}): MemberDevice {
    const wanted = typeof device === 'string' ? { device } : device;
    return new MemberDevice(wanted, chooseDevice(wanted));
  }

  /** To be among this member's attributes when it joins the mesh. */
  get attributes(): MeshAttributes {
    return attributesOf(this.#facts);
  }

  /**
   * What this member opens, by what all have announced. A soft device listens where the member does, and admits whom
   * the mesh admits.
   * @throws NodeError ERR_RDMC_DEVICE_MISMATCH with `memberId` and `field`
   */
  agree(mesh: Mesh): OpenDeviceOptions {
    const { wanted, choice } = this;
    const kind = agreeOnDevice(mesh.id, this.#facts, mesh.peers.values());
    // The soft device may be what all agreed on instead; an RDMA device is the one that was chosen here.
    if (kind !== COMMON_DEVICE) return { ...wanted, choice };
    const own = mesh.members.find((member) => member.id === mesh.id)!;
    const key = wanted.insecure ? undefined : (wanted.key ?? mesh.secret(DEVICE_SECRET));
    const listen = wanted.listen ?? (isIP(own.host) ? { host: own.host } : undefined);
    return {
      ...wanted,
      device: kind,
      choice: choice.kind === 'soft' ? choice : COMPROMISE,
      // A mesh has no key only where its options say so.
      ...(key ? { key } : { insecure: true }),
      ...(listen && { listen }),
    };
  }
}
