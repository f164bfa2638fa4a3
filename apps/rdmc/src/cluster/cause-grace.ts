/**
 * How long to wait for the cause of an error after its consequence is known: on a busy machine, the exit of a process
 * is reported late.
 */
const CAUSE_GRACE_MS = 5000;

/** Runs `action` after that time. Returns a function that cancels it. */
export function afterCauseGrace(action: () => void): () => void {
  // If this process itself was stopped, its timers run before it reads what happened meanwhile. The second immediate
  // runs after that.
  const timer = setTimeout(() => setImmediate(() => setImmediate(action)), CAUSE_GRACE_MS);
  return () => clearTimeout(timer);
}
