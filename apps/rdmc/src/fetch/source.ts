import { usageError } from '../errors.js';
import { parseEndpoint } from '../hosts/endpoint.js';

/** What to fetch, and from where. */
export interface FetchSource {
  readonly host: string;
  readonly port: number | undefined;
  /** Undefined for everything. */
  readonly name: string | undefined;
}

/** Reads `HOST[:PORT][/NAME]`; a slash at the end of the name is ignored. @throws CliError ERR_RDMC_USAGE */
export function parseSource(text: string): FetchSource {
  const slash = text.indexOf('/');
  const { user, host, port } = parseEndpoint(slash === -1 ? text : text.slice(0, slash));
  if (user !== undefined)
    throw usageError(
      `${JSON.stringify(text)}: a user name has no meaning here`,
      'remove it: HOST[:PORT][/NAME]',
    );
  const name = slash === -1 ? '' : text.slice(slash + 1).replace(/\/+$/, '');
  return { host, port, name: name === '' ? undefined : name };
}
