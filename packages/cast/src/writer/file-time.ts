import { truncatesFileTimes } from '@rdmc/common';
import type { Timestamp } from '../stream/records.js';

/** Added to microseconds, so that a double that is rounded is not one microsecond off. */
const HALF = 0.5;

/** A file's time for functions of `fs`: seconds as a double, exact to a microsecond. */
export function secondsOf({ seconds, nanoseconds }: Timestamp): number | string {
  const microseconds = Math.floor(nanoseconds / 1000);
  if (microseconds === 0) return seconds < 0 ? String(seconds) : seconds;
  if (seconds >= 0) return seconds + (microseconds + HALF) / 1e6;
  // `fs` takes a negative number for the present, and negative text as it is. Truncation makes a negative time later.
  return String(seconds + (microseconds + (truncatesFileTimes ? -HALF : HALF)) / 1e6);
}
