import { type DeviceSurvey, deviceProblem, type SurveyedDevice, surveyRdmaDevices } from '@rdmc/verbs';
import { type FoundDevice, findKernelDevices, hasVerbsFiles } from '../devices/found.js';
import { codeOf, messageOf } from '../errors.js';
import { type CheckResult, result } from './check.js';

const EPERM = 1;
const EACCES = 13;
const DISTRIBUTION = 'Debian: apt-get install';

/** The RDMA devices and libraries of this machine. */
export interface HardwareFacts {
  readonly survey: DeviceSurvey;
  /** Devices of the kernel. */
  readonly kernel: readonly FoundDevice[];
  /** Whether /dev/infiniband has device files. */
  readonly verbsFiles: boolean;
}

/**
 * Collects the facts. Where the addon does not load, libibverbs cannot be queried; the check of the addon reports that.
 */
export function hardwareFacts(): HardwareFacts {
  const kernel = findKernelDevices();
  const verbsFiles = hasVerbsFiles();
  try {
    return { survey: surveyRdmaDevices(), kernel, verbsFiles };
  } catch {
    return { survey: { library: undefined, problem: undefined, devices: [] }, kernel, verbsFiles };
  }
}

export function usableDevices({ survey }: HardwareFacts): readonly SurveyedDevice[] {
  return survey.devices.filter((device) => !deviceProblem(device));
}

function checkLibrary({ survey, kernel }: HardwareFacts): CheckResult {
  const [id, title] = ['rdma-library', 'RDMA library'];
  if (survey.library) return result(id, title, 'ok', survey.library);
  const status = kernel.length > 0 ? 'warn' : 'info';
  const found = survey.problem
    ? `${codeOf(survey.problem)}: ${messageOf(survey.problem)}`
    : 'libibverbs could not be queried';
  const advice = {
    ERR_RDMC_IBVERBS_MISSING: `${DISTRIBUTION} libibverbs1 ibverbs-providers`,
    ERR_RDMC_IBVERBS_TOO_OLD: 'install rdma-core 17 or later',
    ERR_RDMC_IBVERBS_NOT_BUILT: `${DISTRIBUTION} libibverbs-dev, then npx rdmc-verbs-build`,
  }[String(codeOf(survey.problem))];
  return result(id, title, status, found, (status === 'warn' && advice) || null);
}

/** A device of the kernel that libibverbs does not list. */
function checkUnlisted({ name, linkLayer }: FoundDevice, facts: HardwareFacts): CheckResult {
  const found = `${linkLayer}; known to the kernel, but not listed by libibverbs`;
  const advice = facts.verbsFiles
    ? `its provider library is missing: ${DISTRIBUTION} ibverbs-providers, or the library of its vendor`
    : 'there are no device files in /dev/infiniband: modprobe ib_uverbs (in a container: pass /dev/infiniband in)';
  return result(`rdma-${name}`, `RDMA device ${name}`, 'warn', found, advice);
}

function adviceFor(device: SurveyedDevice): string {
  if (device.errno === EACCES || device.errno === EPERM) {
    return `add this user to the group that owns ${device.file} (often rdma), or change its mode with a udev rule`;
  }
  if (device.error) return `see the driver's messages about ${device.name} in dmesg`;
  if (device.ports.every(({ state }) => state !== 'active')) {
    return 'bring its network interface up (ip link set DEV up) or connect the cable; InfiniBand needs a subnet manager';
  }
  return 'rdmc devices lists ports and addresses; give the network interface an IP address';
}

function checkDevice(device: SurveyedDevice): CheckResult {
  const [id, title] = [`rdma-${device.name}`, `RDMA device ${device.name}`];
  const problem = deviceProblem(device);
  if (problem) return result(id, title, 'warn', problem, adviceFor(device));
  const ports = device.ports.map(({ number, state, linkLayer }) => `port ${number} ${state}, ${linkLayer}`);
  return result(id, title, 'ok', ports.join('; '));
}

/** Checks the library and each device. A machine without RDMA devices is healthy: the soft device does not need one. */
export function checkHardware(facts: HardwareFacts): CheckResult[] {
  const listed = new Set(facts.survey.devices.map(({ name }) => name));
  const unlisted = facts.kernel.filter(({ name }) => !listed.has(name));
  const library = checkLibrary(facts);
  if (listed.size === 0 && unlisted.length === 0) {
    return [library, result('rdma-devices', 'RDMA devices', 'info', 'none in this machine')];
  }
  // Without the library no device is listed; the check of the library has reported that.
  const missing = facts.survey.library ? unlisted.map((device) => checkUnlisted(device, facts)) : [];
  return [library, ...facts.survey.devices.map(checkDevice), ...missing];
}
