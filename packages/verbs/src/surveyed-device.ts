export type GidType = 'infiniband' | 'roce-v1' | 'roce-v2';

/** One address of a port. */
export interface SurveyedGid {
  readonly index: number;
  /** As an IPv6 address: `::ffff:10.0.0.1`, `fe80::1`. */
  readonly gid: string;
  readonly type: GidType;
  /** The network interface behind it; empty on InfiniBand. */
  readonly netdev: string;
}

export interface SurveyedPort {
  /** From 1. */
  readonly number: number;
  /** `active`, `down`, `initializing`, ... */
  readonly state: string;
  readonly linkLayer: 'ethernet' | 'infiniband';
  readonly activeMtuBytes: number;
  readonly maxMtuBytes: number;
  readonly lid: number;
  readonly gids: readonly SurveyedGid[];
}

export interface SurveyedDevice {
  readonly name: string;
  /** The device file that is needed to open it. */
  readonly file: string;
  /** `infiniband` includes RoCE; queue pairs of other transports cannot be connected here. */
  readonly transport: 'infiniband' | 'iwarp' | 'other';
  /** Why it could not be opened; empty if it could. */
  readonly error: string;
  readonly errno: number;
  readonly ports: readonly SurveyedPort[];
}
