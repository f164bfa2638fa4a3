/**
 * Calls `act` after some ticks of this process' own loop. A tick that comes late counts for one: while the process was
 * stopped or busy, others did not get an answer from it either. Returns a function that stops it.
 */
export function afterTicks(ticks: number, tickMs: number, act: () => void): () => void {
  let passed = 0;
  const timer = setInterval(() => {
    passed += 1;
    if (passed < ticks) return;
    clearInterval(timer);
    act();
  }, tickMs);
  return () => clearInterval(timer);
}
