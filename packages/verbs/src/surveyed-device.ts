/** The kind of network that an address belongs to. */
export type GidType = 'infiniband' | 'roce-v1' | 'roce-v2';

/** One address of a port. */
export interface SurveyedGid {
  /** Its index in the port's table: the option `gidIndex`. */
  readonly index: number;
  /** As an IPv6 address: `::ffff:10.0.0.1`, `fe80::1`. */
  readonly gid: string;
  /** The kind of network. */
  readonly type: GidType;
  /** The network interface behind it; empty on InfiniBand. */
  readonly netdev: string;
}

/** One port of a device. */
export interface SurveyedPort {
  /** From 1. */
  readonly number: number;
  /** `active`, `down`, `initializing`, ... */
  readonly state: string;
  /** 'ethernet' is RoCE. */
  readonly linkLayer: 'ethernet' | 'infiniband';
  /** Longest packet that the port carries now. */
  readonly activeMtuBytes: number;
  /** Longest packet that the port supports. */
  readonly maxMtuBytes: number;
  /** Its address in an InfiniBand subnet; 0 on Ethernet. */
  readonly lid: number;
  /** Its addresses. */
  readonly gids: readonly SurveyedGid[];
}

/** An RDMA device as `surveyRdmaDevices` found it. */
export interface SurveyedDevice {
  /** Its name, such as 'mlx5_0'. */
  readonly name: string;
  /** The device file that is needed to open it. */
  readonly file: string;
  /** `infiniband` includes RoCE; queue pairs of other transports cannot be connected here. */
  readonly transport: 'infiniband' | 'iwarp' | 'other';
  /** Why it could not be opened; empty if it could. */
  readonly error: string;
  /** Number of the system's error, if it could not be opened; else 0. */
  readonly errno: number;
  /** Its ports; empty if it could not be opened. */
  readonly ports: readonly SurveyedPort[];
}
