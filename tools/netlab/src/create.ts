import { buildLab } from './build.js';
import { NetlabError } from './errors.js';
import { removeAtExit } from './exit.js';
import { Netlab } from './lab.js';
import { checkOptions, type LabOptions } from './options.js';
import { type Plan, planLab } from './plan.js';
import { startTimeOf } from './processes.js';
import { findLabs, readState, writeHostFiles, writeState } from './state.js';
import { requireTools } from './tools.js';

let made = 0;

function ownerOf(detached: boolean): Plan['owner'] {
  return detached ? undefined : { pid: process.pid, startTime: startTimeOf(process.pid) ?? '' };
}

/**
 * Creates a lab. It is removed by `destroy()`, by `await using`, and when this process ends, also by SIGINT,
 * SIGTERM or SIGHUP (if the program does not have its own handler); after a SIGKILL by `netlab gc`.
 *
 * Throws {@link NetlabError}: INVALID_OPTION, NOT_LINUX, NOT_ROOT, TOOL_MISSING, KERNEL_MODULE_MISSING (named),
 * NAME_TAKEN, COMMAND_FAILED. Nothing is left behind then.
 */
export async function createLab(options: LabOptions): Promise<Netlab> {
  const checked = checkOptions(options);
  requireTools();
  made += 1;
  const name = checked.name ?? `${process.pid}-${made}`;
  const plan = planLab(name, checked, ownerOf(checked.detached));
  writeState(plan, true);
  // Registered before anything exists, so that an interruption does not leave a partial lab.
  let forget = (): void => {};
  const lab = new Netlab(plan, () => forget());
  forget = removeAtExit(() => lab.removeNow());
  try {
    writeHostFiles(plan);
    await buildLab(plan);
  } catch (error) {
    await lab.destroy();
    throw error;
  }
  if (checked.detached) forget();
  return lab;
}

/**
 * A lab of another process, by its name; without a name, the lab of the environment variable NETLAB, or the
 * only one. It is not removed when this process ends. Throws ERR_RDMC_NETLAB_NO_LAB.
 */
export function attachLab(name: string | undefined = process.env.NETLAB): Netlab {
  const labs = findLabs().filter((lab) => lab.plan !== undefined && lab.state !== 'orphan');
  const plan = name !== undefined ? readState(name) : labs.length === 1 ? labs[0]!.plan : undefined;
  if (plan) return new Netlab(plan, () => {});
  const known = labs.map((lab) => lab.name).join(', ');
  throw new NetlabError(
    'ERR_RDMC_NETLAB_NO_LAB',
    name !== undefined
      ? `there is no lab ${name}; ${known ? `known labs: ${known}` : 'create one with netlab up'}`
      : known
        ? `there are several labs: choose one with --lab or NETLAB: ${known}`
        : 'there is no lab: create one with netlab up',
  );
}
