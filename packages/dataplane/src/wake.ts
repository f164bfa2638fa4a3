/** Adds 1 to an eventfd, whose watcher wakes another thread's event loop. */
export type EventFdSignal = () => void;

/**
 * Signals a thread if its word says that it sleeps. The word goes back to 0 with it, so one sleep costs one
 * system call however many records follow before the sleeper runs.
 */
export function signalSleeper(words: Int32Array, sleepingWord: number, signal: EventFdSignal): void {
  if (Atomics.load(words, sleepingWord) === 0) return;
  if (Atomics.compareExchange(words, sleepingWord, 1, 0) === 1) signal();
}

/** Signals a thread that asked, by its word, to hear of room in a ring. */
export function signalRoom(words: Int32Array, wantedWord: number, signal: EventFdSignal): void {
  if (Atomics.load(words, wantedWord) === 0) return;
  if (Atomics.exchange(words, wantedWord, 0) === 1) signal();
}
