/** The chapters of the suite, in the order they run. */
export const CHAPTER_NAMES = [
  'opcodes',
  'sizes',
  'scatter-gather',
  'requests',
  'signalling',
  'ordering',
  'receiver not ready',
  'remote errors',
  'posting errors',
  'atomics',
  'one-sided',
  'channels',
  'many queue pairs',
  'waiting',
  'regions',
  'barriers',
  'peer death',
  'connecting',
  'lifecycle',
] as const;
/** Name of a chapter of the suite. */
export type ChapterName = (typeof CHAPTER_NAMES)[number];
