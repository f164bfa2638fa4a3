/**
 * Runs a listener of the application. An error of the listener is the application's: it becomes an
 * uncaught exception, as with any event, but not inside the mesh's own work.
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
