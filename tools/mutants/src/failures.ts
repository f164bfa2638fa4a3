/** What `vitest --reporter=json` writes, as far as it is needed. */
interface TestReport {
  readonly testResults: readonly {
    readonly status: string;
    readonly message?: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly failureMessages?: readonly string[];
    }[];
  }[];
}

const TIMED_OUT = /^(Error: )?(Test|Hook) timed out in \d+ms/;

/** Whether every failure of a report is a test or a hook that ran out of its own time. */
export function onlyTimedOut(report: string): boolean {
  const messages = [...failuresOf(JSON.parse(report) as TestReport)];
  return messages.length > 0 && messages.every((message) => TIMED_OUT.test(message));
}

function* failuresOf({ testResults }: TestReport): Generator<string> {
  for (const { status, message, assertionResults } of testResults) {
    const failed = assertionResults.filter((test) => test.status === 'failed');
    if (status === 'failed' && failed.length === 0) yield message ?? '';
    for (const { failureMessages = [] } of failed) yield* failureMessages;
  }
}
