import type { ComparisonPolicy } from '../manifest/policy.js';
import type { ResumePort } from '../resume/resumption.js';
import type { Commits } from './commits.js';

/** Callbacks and settings of a writer. */
export interface WriterPorts {
  /** Called whenever something has been done, so that long work is seen to make progress. */
  readonly active?: () => void;
  /** Called after every record: whether another thread has given up the cast. */
  readonly isGivenUp?: () => boolean;
  /** Decides when files get their names (default: as soon as they are complete). */
  readonly commits?: Commits;
  /** How entries are compared before they are sent (default: every entry of the stream is stored). */
  readonly policy?: ComparisonPolicy | undefined;
  /** Whether what is changed without a stream must be on disk, too. */
  readonly durable?: boolean;
  /** Whether the attributes that an archive cast tells are set (default false). */
  readonly archive?: boolean | undefined;
  /** What interrupted casts leave (default: nothing). */
  readonly resume?: ResumePort | undefined;
}
