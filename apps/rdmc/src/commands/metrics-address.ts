import type { MetricsAddress } from '@rdmc/metrics';
import { messageOf, usageError } from '../errors.js';

/** The address of the option `--metrics`. @throws CliError ERR_RDMC_USAGE */
export async function metricsAddress(metrics: string | undefined): Promise<MetricsAddress | undefined> {
  if (metrics === undefined) return undefined;
  const { parseMetricsAddress } = await import('@rdmc/metrics');
  try {
    return parseMetricsAddress(metrics);
  } catch (error) {
    throw usageError(`--metrics: ${messageOf(error)}`);
  }
}
