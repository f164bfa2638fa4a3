import { castErrors } from '@rdmc/cast';
import { AbortError, abortErrors, type ErrorTable, optionErrors, userKeyErrors } from '@rdmc/common';
import { groupErrors } from '@rdmc/group';
import { meshErrors } from '@rdmc/mesh';
import { scheduleErrors } from '@rdmc/schedule';
import { verbsErrors } from '@rdmc/verbs';
import { expect, it } from 'vitest';
import {
  CliError,
  cliErrors,
  errorDocument,
  exitCodeOf,
  isConsequence,
  withoutAbort,
} from '../src/errors.js';
import { ExitCode } from '../src/exit-codes.js';

const coded = (code: string): Error => Object.assign(new Error(code), { code });

/** Codes of which scripts learn more than the category. */
const OWN: Readonly<Record<string, ExitCode>> = {
  ERR_RDMC_OUT_OF_MEMORY: ExitCode.NO_SPACE,
  ERR_RDMC_NO_SPACE: ExitCode.NO_SPACE,
  ERR_RDMC_HASH_MISMATCH: ExitCode.VERIFICATION_FAILED,
  ERR_RDMC_DECRYPT_FAILED: ExitCode.VERIFICATION_FAILED,
  ERR_RDMC_DECOMPRESS_FAILED: ExitCode.VERIFICATION_FAILED,
  ERR_RDMC_VERIFY_FAILED: ExitCode.VERIFICATION_FAILED,
  ERR_RDMC_PARTIAL: ExitCode.PARTIAL,
};
const OF_CATEGORY = {
  usage: ExitCode.USAGE,
  'peer-lost': ExitCode.MEMBER_LOST,
  timeout: ExitCode.FAILURE,
  refused: ExitCode.FAILURE,
  resource: ExitCode.FAILURE,
  closed: ExitCode.FAILURE,
  aborted: ExitCode.FAILURE,
  internal: ExitCode.FAILURE,
} as const;

const tables: Readonly<Record<string, ErrorTable>> = {
  ...{ optionErrors, abortErrors, userKeyErrors, scheduleErrors, verbsErrors },
  ...{ meshErrors, groupErrors, castErrors, cliErrors },
};

it.each(Object.entries(tables))('every code of %s ends the command as its category says', (_, table) => {
  for (const [code, [category]] of Object.entries(table)) {
    expect([code, exitCodeOf(coded(code))]).toEqual([code, OWN[code] ?? OF_CATEGORY[category]]);
    expect([code, isConsequence({ code })]).toEqual([code, category === 'peer-lost']);
  }
});

it.each([
  ['ERR_RDMC_INVALID_OPTION', ExitCode.USAGE],
  ['ERR_RDMC_UNKNOWN_DEVICE', ExitCode.USAGE],
  ['ERR_RDMC_KEY_REQUIRED', ExitCode.USAGE],
  ['ERR_RDMC_DUPLICATE_HOST', ExitCode.USAGE],
  ['ERR_RDMC_MESH_WEAK_KEY', ExitCode.USAGE],
  ['ERR_RDMC_MESH_MEMBER_LOST', ExitCode.MEMBER_LOST],
  ['ERR_RDMC_CAST_UNREACHABLE', ExitCode.MEMBER_LOST],
  ['ERR_RDMC_UNKNOWN_HOST', ExitCode.MEMBER_LOST],
  ['ERR_RDMC_REMOTE_START', ExitCode.MEMBER_LOST],
  ['ERR_RDMC_MESH_LISTEN_FAILED', ExitCode.FAILURE],
  ['ERR_RDMC_NOT_FOUND', ExitCode.FAILURE],
  ['ENOSPC', ExitCode.NO_SPACE],
  ['ENOENT', ExitCode.FAILURE],
])('%s ends the command with %i', (code, exitCode) => {
  expect(exitCodeOf(coded(code))).toBe(exitCode);
  expect(new CliError(code, 'what was found').exitCode).toBe(exitCode);
});

it('a call that an interrupt ended ends the command as the interrupt does', () => {
  const exitCode = ExitCode.INTERRUPTED;
  const reason = new CliError('ERR_RDMC_INTERRUPTED', 'interrupted by SIGINT', { exitCode });
  const error = withoutAbort(new AbortError('the cast', AbortSignal.abort(reason)));
  expect(error).toBe(reason);
  expect(errorDocument(error)).toMatchObject({ code: 'ERR_RDMC_INTERRUPTED', exitCode });
  const other = new Error('another one');
  expect(withoutAbort(other)).toBe(other);
});
