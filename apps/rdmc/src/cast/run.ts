import {
  type Cast,
  type CastOptions,
  type CastProgress,
  type CastSummary,
  type CastTarget,
  castFiles,
  castStream,
  DEFAULT_PORT,
} from '@rdmc/cast';
import { withAdvice } from '../advice.js';
import type { ExitCode } from '../exit-codes.js';
import { ExitCode as Code } from '../exit-codes.js';
import { formatEndpoint } from '../hosts/endpoint.js';
import { lookUpAll, resolveTargets } from '../hosts/resolve.js';
import { type FailedStart, RemoteReceivers } from '../remote/start-receivers.js';
import { recorded } from '../trace/recording.js';
import type { Terminal } from '../ui/terminal.js';
import { checkKey } from './check-key.js';
import { isGathering } from './gathering.js';
import type { CastCommandOptions } from './options.js';
import { outcomeOf } from './outcome.js';
import { describePlan, makePlan, type PlannedReceiver } from './plan.js';
import { withoutName } from './receiver-text.js';
import { Reporter } from './reporter.js';

/** The receivers to cast to, when they listen, and their names. */
interface Recipients {
  readonly to: readonly CastTarget[];
  readonly key: Uint8Array | undefined;
  /** Names for the user, by the names that the library uses. */
  readonly labels: ReadonlyMap<string, string>;
  readonly failed: readonly FailedStart[];
}

function libraryName({ host, port = DEFAULT_PORT }: CastTarget): string {
  return formatEndpoint({ host, port });
}

async function listeningRecipients(options: CastCommandOptions, signal: AbortSignal): Promise<Recipients> {
  const { targets, key } = options;
  if (isGathering(options)) {
    // Names of hosts that have not started may not resolve yet.
    const found = await lookUpAll(targets, signal);
    checkKey(
      key,
      found.flatMap(({ target, address }) => (address ? { ...target, address } : [])),
    );
  } else checkKey(key, await resolveTargets(targets, DEFAULT_PORT, signal));
  const to = targets.map(({ host, port = DEFAULT_PORT, rack }) => ({ host, port, ...(rack && { rack }) }));
  return { to, key, labels: new Map(), failed: [] };
}

function startedRecipients(receivers: RemoteReceivers): Recipients {
  const { started, key, failed } = receivers;
  const labels = new Map(started.map(({ to, name }) => [libraryName(to), name]));
  return { to: started.map(({ to }) => to), key, labels, failed };
}

function relabelled(snapshot: CastProgress, labels: Recipients['labels']): CastProgress {
  const receivers = snapshot.receivers.map(({ name, error, ...rest }) => ({
    ...rest,
    name: labels.get(name) ?? name,
    ...(error && { error: { code: error.code, message: withoutName(error.message, name) } }),
  }));
  return { ...snapshot, receivers };
}

function begin({ paths }: CastCommandOptions, { to, labels }: Recipients, reporter: Reporter): void {
  const receivers = to.map((target) => {
    const name = libraryName(target);
    const { host, port = DEFAULT_PORT, rack } = target;
    return { name: labels.get(name) ?? name, host, port, rack: rack === undefined ? null : String(rack) };
  });
  reporter.emit({ event: 'begun', paths: [...paths], receivers });
}

function selectionIn(options: CastCommandOptions) {
  const { compare, filters, only, update, existing, wholeFiles, resume, archive, numericIds } = options;
  const entries = { filters, only, update, existing, delete: options.delete };
  return { compare, wholeFiles, resume, archive, numericIds, ...entries };
}

/** Starts the cast of the paths, or of standard input. */
function start(
  options: CastCommandOptions,
  { to, key }: Recipients,
  reporter: Reporter,
  { signal, trace }: Pick<CastOptions, 'signal' | 'trace'>,
): Cast {
  const { algorithm, rack, relay, device, transport, retries, advertise, bandwidthLimit } = options;
  const { checksum, encrypt, compress, trafficClass, serviceLevel } = options;
  const common: CastOptions = {
    ...{ to, key, algorithm, rack, device, transport, advertise, bandwidthLimit, checksum, encrypt, signal },
    ...{ compress, relay, trace, trafficClass, serviceLevel },
    blockBytes: options.blockSize,
    meshPorts: options.ownPorts,
    messageBytes: options.messageSize,
    connectTimeoutMs: options.connectTimeoutMs,
    stallTimeoutMs: options.stallTimeoutMs,
    logger: reporter.logger,
  };
  const { paths, inputName, dryRun } = options;
  if (inputName !== undefined) return castStream(process.stdin, { ...common, name: inputName });
  const { waitFor, joinWindowMs } = options;
  return castFiles(paths, { ...common, ...selectionIn(options), dryRun, retries, waitFor, joinWindowMs });
}

async function follow(
  options: CastCommandOptions,
  recipients: Recipients,
  reporter: Reporter,
  session: Pick<CastOptions, 'signal' | 'trace'>,
): Promise<CastSummary> {
  const cast = start(options, recipients, reporter, session);
  cast.finished.catch(() => {});
  for await (const snapshot of cast) reporter.progress(relabelled(snapshot, recipients.labels));
  return await cast.finished;
}

function startReceivers(
  options: CastCommandOptions,
  reporter: Reporter,
  signal: AbortSignal,
): Promise<RemoteReceivers> {
  const { targets, device, transport, retries } = options;
  return RemoteReceivers.start({
    ...{ targets, device, transport, signal, remote: options.remote! },
    once: retries === 0 && !options.dryRun,
    onText: (host, line) => reporter.remote(host, line),
    onStarted: ({ name, to, listening: { pid, hostName } }) => {
      reporter.emit({ event: 'started', name, host: to.host, port: to.port!, pid, hostName });
    },
  });
}

async function plannedReceivers(
  { targets, remote, key }: CastCommandOptions,
  signal: AbortSignal,
): Promise<PlannedReceiver[]> {
  if (!remote) {
    const resolved = await resolveTargets(targets, DEFAULT_PORT, signal);
    checkKey(key, resolved);
    return resolved.map((target) => ({ target, port: target.port ?? DEFAULT_PORT, address: target.address }));
  }
  const found = await lookUpAll(targets, signal);
  return found.map(({ target, address = '' }) => ({ target, port: target.port ?? 0, address }));
}

async function plan(
  options: CastCommandOptions,
  reporter: Reporter,
  terminal: Terminal,
  signal: AbortSignal,
) {
  const document = await makePlan(options, await plannedReceivers(options, signal), signal);
  reporter.emit(document);
  reporter.say(...describePlan(document, options.bandwidthLimit, terminal.palette));
}

async function cast(
  options: CastCommandOptions,
  reporter: Reporter,
  signal: AbortSignal,
  trace: CastOptions['trace'],
): Promise<ExitCode> {
  const receivers = options.remote && (await startReceivers(options, reporter, signal));
  try {
    const recipients = receivers ? startedRecipients(receivers) : await listeningRecipients(options, signal);
    begin(options, recipients, reporter);
    const summary = await follow(options, recipients, reporter, { signal, trace });
    const nameOf = (host: string, port: number): string => {
      const name = libraryName({ host, port });
      return recipients.labels.get(name) ?? name;
    };
    const outcome = outcomeOf(summary, recipients.failed, nameOf);
    if (options.dryRun) reporter.previewed(outcome);
    else reporter.finished(outcome);
    return outcome.exitCode;
  } finally {
    await receivers?.close();
  }
}

/**
 * Casts, and reports the progress.
 * @returns 0 when all receivers have everything, 6 when something is missing at some, and the code of the cause when no
 *   receiver has anything
 * @throws CliError and CastError when it cannot begin; the signal's reason when it is interrupted
 */
export async function runCast(
  options: CastCommandOptions,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<ExitCode> {
  const reporter = new Reporter(terminal, options);
  try {
    if (!options.plan) {
      const listener = options.quiet || options.json ? undefined : terminal;
      return await recorded(options.trace, listener, (trace) => cast(options, reporter, signal, trace));
    }
    await plan(options, reporter, terminal, signal);
    return Code.OK;
  } catch (error) {
    // After an interrupt, report that rather than an error that it caused.
    signal.throwIfAborted();
    throw withAdvice(error, 'cast');
  }
}
