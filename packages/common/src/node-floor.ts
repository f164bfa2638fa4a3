// Imports nothing, and has no newer syntax: commands load it under every Node.js, before all else.

/** The oldest Node.js that the packages support; `engines` of every manifest has it too. */
export const LEAST_NODE = '20.19';

/** Whether a version, by default that of this process, is older. */
export function isOldNode(version: string = process.versions.node): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [leastMajor = 0, leastMinor = 0] = LEAST_NODE.split('.').map(Number);
  return major < leastMajor || (major === leastMajor && minor < leastMinor);
}

/** What is wrong, and what to do; `subject` needs a newer Node.js. */
export function oldNodeMessage(subject: string, version: string = process.versions.node): string {
  return `${subject} needs Node.js ${LEAST_NODE} or newer, and this is ${version}: install a newer one`;
}

/** Ends a command's process with one line if its Node.js is too old; otherwise does nothing. */
export function refuseOldNode(command: string): void {
  if (!isOldNode()) return;
  process.stderr.write(`error ERR_RDMC_OLD_NODE: ${oldNodeMessage(command)}\n`);
  process.exit(1);
}
