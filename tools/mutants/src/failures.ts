const TIMED_OUT = /^(Test|Hook) timed out in \d+ms/;

/** Whether every failure is a test or a hook that exceeded its own time limit. */
export function onlyTimedOut(messages: readonly string[]): boolean {
  return messages.length > 0 && messages.every((message) => TIMED_OUT.test(message));
}
