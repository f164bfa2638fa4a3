/** Exit codes of the `rdmc` command. Stable: scripts may rely on them. */
export const ExitCode = {
  OK: 0,
  FAILURE: 1,
  USAGE: 2,
  VERIFICATION_FAILED: 3,
  MEMBER_LOST: 4,
  NO_SPACE: 5,
  PARTIAL: 6,
  HANGUP: 129,
  INTERRUPTED: 130,
  OUTPUT_CLOSED: 141,
  TERMINATED: 143,
} as const;
export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode];

/** Exit codes of `cast`, `receive` and `fetch` beyond those of every command. */
export const castExitCodes: readonly ExitCode[] = [
  ExitCode.VERIFICATION_FAILED,
  ExitCode.MEMBER_LOST,
  ExitCode.NO_SPACE,
  ExitCode.PARTIAL,
  ExitCode.HANGUP,
  ExitCode.TERMINATED,
];

/** The meaning of each exit code, for help texts. */
export const exitMeanings: Readonly<Record<ExitCode, string>> = {
  [ExitCode.OK]: 'success',
  [ExitCode.FAILURE]: 'failure; the error names the cause',
  [ExitCode.USAGE]: 'usage error: unknown option, value out of range',
  [ExitCode.VERIFICATION_FAILED]: 'verification failed: bytes arrived that were not sent',
  [ExitCode.MEMBER_LOST]: 'a member was lost: killed, interrupted or unreachable',
  [ExitCode.NO_SPACE]: 'not enough disk space or memory',
  [ExitCode.PARTIAL]: 'partly done: some receivers or files are missing; the summary says which',
  [ExitCode.HANGUP]: 'terminal closed (SIGHUP)',
  [ExitCode.INTERRUPTED]: 'interrupted (Ctrl-C)',
  [ExitCode.OUTPUT_CLOSED]: 'the reader of the output closed it',
  [ExitCode.TERMINATED]: 'terminated (SIGTERM); `rdmc receive` and `rdmc serve` end with 0',
};
