/**
 * State that the application's thread and a writer thread share without messages, because either may be busy: indices
 * of an `Int32Array` in shared memory.
 */
export const WriterSigns = {
  /** Counter of the writer's steps. */
  ACTIVITY: 0,
  /** Not 0: the cast was given up, and nothing more is stored. */
  GIVEN_UP: 1,
  COUNT: 2,
} as const;
