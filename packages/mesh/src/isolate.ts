/**
 * Runs a listener of the application. What it throws is the application's error: it surfaces as an
 * uncaught exception, as with any event, but not in the middle of the mesh's own work.
 */
export function isolate(run: () => void): void {
  try {
    run();
  } catch (error) {
    process.nextTick(() => {
      throw error;
    });
  }
}
