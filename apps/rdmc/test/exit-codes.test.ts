import { expect, it } from 'vitest';
import { exitCodeOf } from '../src/errors.js';
import { ExitCode } from '../src/exit-codes.js';

const coded = (code: string): Error => Object.assign(new Error(code), { code });

it.each([
  ['ERR_RDMC_INVALID_OPTION', ExitCode.USAGE],
  ['ERR_RDMC_KEY_REQUIRED', ExitCode.USAGE],
  ['ERR_RDMC_MESH_INVALID_OPTION', ExitCode.USAGE],
  ['ERR_RDMC_MESH_INVALID_ARGUMENT', ExitCode.USAGE],
  ['ERR_RDMC_MESH_DUPLICATE_MEMBER', ExitCode.USAGE],
  ['ERR_RDMC_MESH_WEAK_KEY', ExitCode.USAGE],
  ['ERR_RDMC_MESH_KEY_REQUIRED', ExitCode.USAGE],
  // Bodies are no options: this one is a defect of a program.
  ['ERR_RDMC_MESH_INVALID_BODY', ExitCode.FAILURE],
  ['ERR_RDMC_MESH_MEMBER_LOST', ExitCode.MEMBER_LOST],
  ['ERR_RDMC_MESH_LISTEN_FAILED', ExitCode.FAILURE],
])('%s ends the command with %i', (code, exitCode) => {
  expect(exitCodeOf(coded(code))).toBe(exitCode);
});
