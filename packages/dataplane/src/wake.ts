/** Adds 1 to an eventfd, whose watcher wakes another thread's event loop. */
export type EventFdSignal = () => void;

/**
 * Signals a thread if its word says that it sleeps, and sets the word to 0. So one sleep costs one
 * system call, for any number of records before the sleeping thread runs.
 */
export function signalSleeper(words: Int32Array, sleepingWord: number, signal: EventFdSignal): void {
  if (Atomics.load(words, sleepingWord) === 0) return;
  if (Atomics.compareExchange(words, sleepingWord, 1, 0) === 1) signal();
}

/** Signals a thread that asked, with its word, for a signal when a ring has room. */
export function signalRoom(words: Int32Array, wantedWord: number, signal: EventFdSignal): void {
  if (Atomics.load(words, wantedWord) === 0) return;
  if (Atomics.exchange(words, wantedWord, 0) === 1) signal();
}
