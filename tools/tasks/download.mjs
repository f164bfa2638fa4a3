// Commands that download something: each has a time limit, and says what to do after it.
import { execFileSync } from 'node:child_process';

const DEFAULT_SECONDS = 300;
/** A timer of a longer time ends at once. */
const MOST_MS = 2 ** 31 - 1;

const given = Number(process.env.RDMC_DOWNLOAD_LIMIT);
/** Of each command; RDMC_DOWNLOAD_LIMIT replaces it. */
export const downloadSeconds = given > 0 ? given : DEFAULT_SECONDS;

/** An option of `spawnSync` and `execFileSync`, which take integers only. */
export const DOWNLOAD = { timeout: Math.min(Math.ceil(downloadSeconds * 1000), MOST_MS) };

/** What is printed of a command that took longer. */
export function lateDownload(what) {
  return `${what} took longer than ${downloadSeconds} s; check the network and the registry, or give it more time: RDMC_DOWNLOAD_LIMIT=SECONDS`;
}

/** Whether the limit has ended it: the result of `spawnSync`, or the error of `execFileSync`. */
export function isLate({ code, error }) {
  return (error?.code ?? code) === 'ETIMEDOUT';
}

/** `execFileSync` with the limit. @throws an error of one line after it, else the command's own */
export function download(what, command, args, options = {}) {
  try {
    return execFileSync(command, args, { ...options, ...DOWNLOAD });
  } catch (error) {
    throw isLate(error) ? new Error(lateDownload(what), { cause: error.code }) : error;
  }
}
