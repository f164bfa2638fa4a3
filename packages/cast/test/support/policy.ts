/** How a receiver with surplus entries compares, and removes them. */
export const policy = {
  by: 'size-time',
  update: false,
  existing: false,
  remove: true,
  delta: true,
  resume: true,
  dryRun: false,
  rules: [],
} as const;
