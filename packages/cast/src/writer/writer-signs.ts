/**
 * What the application's thread and a writer's thread tell each other without a message, as one of them may be busy: the
 * places of an `Int32Array` in shared memory.
 */
export const WriterSigns = {
  /** Counts what the writer has done. */
  ACTIVITY: 0,
  /** Not 0: nothing more shall be stored. */
  GIVEN_UP: 1,
  COUNT: 2,
} as const;
