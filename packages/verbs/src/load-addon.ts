import { codeOf } from '@rdmc/common';
import { isOldNode, oldNodeMessage } from '@rdmc/common/node-floor';
import { VerbsError } from './errors.js';

/** The oldest glibc with which prebuilt addons load; tools/release checks them. */
const LEAST_GLIBC = '2.28';
/** The processors that the addon was written for. */
const PROCESSORS = ['x64', 'arm64'];
const BUILD = 'npx rdmc-verbs-build';

/** What the choice of an addon, and the explanation of a failure, depend on. */
export interface Machine {
  readonly platform: string;
  readonly processor: string;
  readonly node: string;
  /** The version of glibc, or undefined if the libc is another one. */
  glibc(): string | undefined;
}

export const thisMachine: Machine = {
  platform: process.platform,
  processor: process.arch,
  node: process.versions.node,
  glibc() {
    const report = process.report as NodeJS.ProcessReport & { excludeNetwork: boolean };
    const { excludeNetwork } = report;
    report.excludeNetwork = true; // its look-ups of names take seconds
    const { header } = report.getReport() as { header: { glibcVersionRuntime?: string } };
    report.excludeNetwork = excludeNetwork;
    return header.glibcVersionRuntime;
  },
};

/** The package with the prebuilt addon. */
function platformPackage({ processor }: Machine): string {
  return `@rdmc/verbs-linux-${processor}`;
}

function checkMachine({ platform, processor, node }: Machine): void {
  if (platform !== 'linux') {
    throw new VerbsError(
      'ERR_RDMC_PLATFORM',
      `RDMA devices need Linux; this is ${platform}. @rdmc/schedule works everywhere.`,
    );
  }
  if (!PROCESSORS.includes(processor)) {
    throw new VerbsError(
      'ERR_RDMC_PLATFORM',
      `RDMA devices need one of the processors ${PROCESSORS.join(' and ')}; this is ${processor}.`,
    );
  }
  if (isOldNode(node)) throw new VerbsError('ERR_RDMC_OLD_NODE', oldNodeMessage('@rdmc/verbs', node));
}

/** The error of an addon that is there, for the reason that dlopen gave. */
function refusal(machine: Machine, refused: Error): VerbsError {
  const [said = ''] = refused.message.split('\n');
  const needed = /version `GLIBC_([\d.]+)' not found/.exec(said)?.[1];
  if (needed === undefined) {
    const again = `Install ${platformPackage(machine)} again, or build it: ${BUILD}.`;
    const text = `The native addon does not load: ${said}. ${again}`;
    return new VerbsError('ERR_RDMC_NATIVE_BROKEN', text, { cause: refused });
  }
  return new VerbsError(
    'ERR_RDMC_OLD_GLIBC',
    `The native addon needs glibc ${needed}, and this system has ${machine.glibc()}: use a newer system ` +
      `(prebuilt addons need glibc ${LEAST_GLIBC}), or build the addon here: ${BUILD}.`,
    { cause: refused },
  );
}

/** What to do without an addon; `refused`: why dlopen did not load the one that is there. */
function failure(machine: Machine, refused: Error | undefined): VerbsError {
  if (machine.glibc() === undefined) {
    return new VerbsError(
      'ERR_RDMC_MUSL',
      'The native addon needs glibc, and this system has another libc (Alpine has musl): ' +
        'use an image with glibc, such as node:24-slim.',
      { cause: refused },
    );
  }
  if (refused) return refusal(machine, refused);
  return new VerbsError(
    'ERR_RDMC_NATIVE_MISSING',
    `No native addon for linux-${machine.processor}: install the optional package ${platformPackage(machine)}, ` +
      `or build it from source with a C++20 compiler: ${BUILD}.`,
  );
}

/**
 * Loads the addon: a build beside the sources first, then the platform package.
 * @throws VerbsError ERR_RDMC_PLATFORM, ERR_RDMC_OLD_NODE, ERR_RDMC_OLD_GLIBC, ERR_RDMC_MUSL, ERR_RDMC_NATIVE_MISSING,
 *   ERR_RDMC_NATIVE_BROKEN
 */
export function loadAddon(
  built: string,
  load: (candidate: string) => unknown,
  machine = thisMachine,
): unknown {
  checkMachine(machine);
  let refused: Error | undefined;
  for (const candidate of [built, platformPackage(machine)]) {
    try {
      return load(candidate);
    } catch (error) {
      const code = codeOf(error);
      if (code === 'ERR_DLOPEN_FAILED') refused ??= error as Error;
      else if (code !== 'MODULE_NOT_FOUND') throw error;
    }
  }
  throw failure(machine, refused);
}
