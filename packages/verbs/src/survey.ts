import { codeOf, isCodeOf, messageOf } from '@rdmc/common';
import { readEnvironment } from './environment.js';
import { VerbsError, verbsErrors } from './errors.js';
import { native } from './native.js';

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
  /** The device file that opening it needs. */
  readonly file: string;
  /** `infiniband` includes RoCE; queue pairs of other transports cannot be connected here. */
  readonly transport: 'infiniband' | 'iwarp' | 'other';
  /** Why it could not be opened; empty where it could. */
  readonly error: string;
  readonly errno: number;
  readonly ports: readonly SurveyedPort[];
}

/** What libibverbs finds on this machine. */
export interface DeviceSurvey {
  /** Where the library was found; undefined where it cannot be used: then `problem` says why. */
  readonly library: string | undefined;
  readonly problem: VerbsError | undefined;
  readonly devices: readonly SurveyedDevice[];
}

/**
 * Looks at every RDMA device: opens it, reads its ports and addresses, closes it. Takes some milliseconds for each.
 * Never throws where there is no library or no device: the answer says so.
 * @throws VerbsError ERR_RDMC_PLATFORM, ERR_RDMC_NATIVE_MISSING
 */
export function surveyRdmaDevices(library = readEnvironment().library): DeviceSurvey {
  const addon = native();
  try {
    const survey = addon.ibverbsSurvey(library);
    return { library: survey.library, problem: undefined, devices: survey.devices };
  } catch (error) {
    const code = codeOf(error);
    if (!isCodeOf(verbsErrors, code) || !code.startsWith('ERR_RDMC_IBVERBS_')) throw error;
    return {
      library: undefined,
      problem: new VerbsError(code, messageOf(error), { cause: error }),
      devices: [],
    };
  }
}
