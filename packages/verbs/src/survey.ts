import { codeOf, isCodeOf, messageOf } from '@rdmc/common';
import { readEnvironment } from './environment.js';
import { VerbsError, verbsErrors } from './errors.js';
import { native } from './native.js';
import type { SurveyedDevice } from './surveyed-device.js';

/** The RDMA devices that libibverbs finds on this machine. */
export interface DeviceSurvey {
  /** Path of the library; undefined if it cannot be used: then `problem` has the reason. */
  readonly library: string | undefined;
  /** Why the library cannot be used; undefined if it can. */
  readonly problem: VerbsError | undefined;
  /** The devices that the library lists; empty without the library. */
  readonly devices: readonly SurveyedDevice[];
}

/**
 * Surveys the RDMA devices: opens each, reads its ports and addresses, closes it. Takes some milliseconds per device.
 * Does not throw without a library or a device: the result has the reason.
 * @throws VerbsError as `openDevice`, where the addon does not load
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
