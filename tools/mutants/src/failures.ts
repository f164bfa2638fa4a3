const TIMED_OUT = /^(Test|Hook) timed out in \d+ms/;

/** Whether every failure is a test or a hook that ran out of its own time. */
export function onlyTimedOut(messages: readonly string[]): boolean {
  return messages.length > 0 && messages.every((message) => TIMED_OUT.test(message));
}
