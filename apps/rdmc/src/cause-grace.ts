/**
 * How long the cause of an error is waited for once its consequence is known: a machine that is busy tells late how a
 * process ended.
 */
const CAUSE_GRACE_MS = 5000;

/** Returns the function that takes it back. */
export function afterCauseGrace(action: () => void): () => void {
  // Where this process itself was stopped, its timers run before it hears what happened; the second immediate comes
  // after that.
  const timer = setTimeout(() => setImmediate(() => setImmediate(action)), CAUSE_GRACE_MS);
  return () => clearTimeout(timer);
}
