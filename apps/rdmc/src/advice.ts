import { CliError, codeOf, exitCodeOf, messageOf } from './errors.js';

/** The options that help after an error of the library, by its code and the command. The library does not know options. */

export const KEY_ADVICE =
  'make a key with: rdmc key FILE; copy it to all hosts, and give --key-file FILE on all of them';

const OF_BOTH: Readonly<Record<string, string>> = {
  ERR_RDMC_KEY_MISMATCH: 'give the same key at both ends: rdmc key FILE makes one, --key-file FILE uses it',
  ERR_RDMC_KEY_REQUIRED: KEY_ADVICE,
  ERR_RDMC_MESH_USER_KEY: `without the key of the user, a key is needed: ${KEY_ADVICE}`,
};

const OF_CAST: Readonly<Record<string, string>> = {
  ERR_RDMC_NO_RECEIVERS: 'start rdmc receive there again, and repeat the command',
  ERR_RDMC_TOO_FEW_RECEIVERS: 'start rdmc receive on the others, raise --join-window, or lower --wait-for',
};

const OF_RECEIVE: Readonly<Record<string, string>> = {
  ERR_RDMC_NOT_FOUND: 'add --mkdir to make it, or give another directory with --dir',
  ERR_RDMC_NOT_A_DIRECTORY: 'give another directory with --dir',
  ERR_RDMC_WRITE_FAILED: 'give another directory with --dir',
  ERR_RDMC_READ_ONLY: 'give another directory with --dir, or mount it for writing',
  ERR_RDMC_PERMISSION: 'give another directory with --dir, or the permission to write to this user',
  ERR_RDMC_ADDRESS_IN_USE: 'choose another port: --listen ADDRESS:PORT, or port 0 for a free one',
};

const OF_SERVE: Readonly<Record<string, string>> = {
  ERR_RDMC_NOT_FOUND: 'give a directory that exists',
  ERR_RDMC_NOT_A_DIRECTORY:
    'give the directory that the file is in; fetchers name the file: rdmc fetch HOST/NAME',
  ERR_RDMC_ADDRESS_IN_USE: OF_RECEIVE.ERR_RDMC_ADDRESS_IN_USE!,
};

const OF_FETCH: Readonly<Record<string, string>> = {
  ERR_RDMC_KEY_MISMATCH:
    'give --key-file FILE with the key of the server, or with one made from it: rdmc key --role fetch --key-file KEY FILE',
  ERR_RDMC_KEY_REQUIRED: 'give --key-file FILE with the key of the server, or with a key for fetching',
  ERR_RDMC_NOT_FOUND: 'check the name; without a name, everything that is served is fetched',
  ERR_RDMC_CAST_UNREACHABLE: 'start rdmc serve there; --wait TIME calls it for longer',
  ERR_RDMC_BUSY: 'try again later; --wait TIME calls it for longer',
};

const OF_SCHEDULE: Readonly<Record<string, string>> = {
  ERR_RDMC_INVALID_RACKS:
    'give the rack of each member, root first, for example --racks 0,0,1,1 for 4 members',
};

/** The commands whose errors have advice of their own. */
type Command = 'cast' | 'receive' | 'serve' | 'fetch' | 'schedule';
const OF_COMMAND: Readonly<Record<Command, Readonly<Record<string, string>>>> = {
  cast: OF_CAST,
  receive: OF_RECEIVE,
  serve: OF_SERVE,
  fetch: OF_FETCH,
  schedule: OF_SCHEDULE,
};

export function adviceFor(code: string | null | undefined, command: Command): string | undefined {
  if (code == null) return undefined;
  return OF_COMMAND[command][code] ?? OF_BOTH[code];
}

/** The error with the options that help; unchanged where none does, or where it has advice. */
export function withAdvice(error: unknown, command: Command): unknown {
  const code = codeOf(error);
  const advice = adviceFor(code, command);
  if (advice === undefined || error instanceof CliError) return error;
  return new CliError(code!, messageOf(error), { exitCode: exitCodeOf(error), advice, cause: error });
}

/** The result of `work`; its errors with advice. */
export function advised<T>(command: Command, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw withAdvice(error, command);
  }
}
