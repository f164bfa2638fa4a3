import { usageError } from '../errors.js';
import { parseEndpoint } from '../hosts/endpoint.js';

/** The address of the option `--listen`: nothing without it. @throws CliError ERR_RDMC_USAGE */
export function listenAddress(listen: string | undefined): {
  readonly host?: string | undefined;
  readonly port?: number | undefined;
} {
  if (listen === undefined) return {};
  const { user, host, port } = parseEndpoint(listen);
  if (user === undefined) return { host, port };
  throw usageError(`--listen: found ${listen}; expected ADDRESS or ADDRESS:PORT`);
}
