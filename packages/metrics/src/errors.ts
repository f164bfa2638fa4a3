import { errorTable, optionErrors, RdmcError } from '@rdmc/common';

/** Every code a {@link MetricsError} can carry. They are stable; messages are not. */
export const metricsErrors = errorTable({
  ...optionErrors,
  ERR_RDMC_METRICS_NAME: [
    'usage',
    'a metric or a label has a name that Prometheus does not accept',
    'use letters, digits and _, and no digit first; names of counters end in _total',
  ],
  ERR_RDMC_METRICS_EXISTS: ['usage', 'a metric of this name exists', 'use another name'],
  ERR_RDMC_METRICS_LISTEN_FAILED: [
    'resource',
    'the endpoint cannot listen at its address',
    'see the cause; choose another port or address',
  ],
});
/** The stable codes of this package's errors; `metricsErrors` has their meaning. */
export type MetricsErrorCode = keyof typeof metricsErrors;

/** The error of this package. Tell cases apart by `code`. */
export class MetricsError extends RdmcError<MetricsErrorCode> {
  override readonly name = 'MetricsError';
}
