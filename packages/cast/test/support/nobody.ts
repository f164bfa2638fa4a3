import { chownSync } from 'node:fs';

/** A user whom permissions concern. */
const NOBODY = 65_534;

/** Does something as that user, where the tests run as root. */
export function asNobody<T>(action: () => T): T {
  const user = process.geteuid!();
  if (user !== 0) return action();
  process.seteuid!(NOBODY);
  try {
    return action();
  } finally {
    process.seteuid!(user);
  }
}

/** Gives a directory to that user. */
export function own(directory: string): string {
  if (process.geteuid!() === 0) chownSync(directory, NOBODY, NOBODY);
  return directory;
}
