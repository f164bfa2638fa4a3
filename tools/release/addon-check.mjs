// Whether a prebuilt addon loads on the machines that its package is for.
import { readElf } from './elf.mjs';

/** The newest glibc whose symbols an addon may need: that of RHEL 8, and the oldest that Node.js itself runs on. */
export const GLIBC_LIMIT = '2.28';
/** Libraries that every Linux with glibc has, in any version that GLIBC_LIMIT allows. */
const LIBRARIES = /^(?:libc|libm|libpthread|libdl|librt|ld-linux-[\w-]+)\.so\.\d+$/;

function isNewer(version, limit) {
  return version.localeCompare(limit, 'en', { numeric: true }) > 0;
}

/** Problems of an addon, one line each. `elf` is what readElf returns. */
export function addonProblems(elf, cpu) {
  const problems = [];
  if (elf.cpu !== cpu) problems.push(`the addon is for ${elf.cpu}, not for ${cpu}`);
  const libraries = elf.libraries.filter((name) => !LIBRARIES.test(name));
  if (libraries.length > 0) {
    problems.push(`the addon needs ${libraries.join(', ')} of the user's machine: build it with --portable`);
  }
  const foreign = elf.versions.filter((name) => !name.startsWith('GLIBC_'));
  if (foreign.length > 0) problems.push(`the addon needs symbols of versions ${foreign.join(', ')}`);
  const newer = elf.versions.filter(
    (name) => isNewer(name.replace('GLIBC_', ''), GLIBC_LIMIT) && !foreign.includes(name),
  );
  if (newer.length > 0) {
    problems.push(
      `the addon needs ${newer.join(', ')}; the newest that is allowed is GLIBC_${GLIBC_LIMIT}: ` +
        'lead the new symbol to an older one (packages/verbs/native/portable)',
    );
  }
  return problems;
}

/** @throws Error with the problems of an addon */
export function checkAddon(file, cpu) {
  const problems = addonProblems(readElf(file), cpu);
  if (problems.length > 0) throw new Error(`${file}: ${problems.join('; ')}`);
}
