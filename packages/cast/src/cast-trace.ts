import { Tracer } from '@rdmc/common';

/** Traces casts, from their start to their end. */
export const castTrace = new Tracer<{ readonly paths: number; readonly receivers: readonly string[] }>(
  '@rdmc/cast:cast',
);
