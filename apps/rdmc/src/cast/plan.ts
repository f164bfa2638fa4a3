import { chooseTransfer, type FileSurvey, surveyFiles } from '@rdmc/cast';
import { type Algorithm, createSchedule, type RackId } from '@rdmc/schedule';
import { formatEndpoint } from '../hosts/endpoint.js';
import type { Target } from '../hosts/target.js';
import { problemEvent } from '../receive/events.js';
import type { Palette } from '../ui/palette.js';
import { formatBytes, formatRate, formatSeconds, plural } from '../ui/units.js';
import { describeContents } from './contents.js';
import type { CastPlan } from './events.js';
import type { CastCommandOptions } from './options.js';

/** A receiver of a plan, with its address where that is known. */
export interface PlannedReceiver {
  readonly target: Target;
  readonly port: number;
  readonly address: string;
}

/** Without an option, the sender has a separate rack: the name of a receiver's rack is never empty. */
function racksOf({ rack, targets }: CastCommandOptions): RackId[] | undefined {
  const racks = targets.flatMap((target) => target.rack ?? []);
  return racks.length === targets.length ? [rack ?? '', ...racks] : undefined;
}

interface TransferPlan {
  readonly algorithm: Algorithm;
  readonly algorithmReason: string;
  readonly blockReason: string;
  readonly messages: number;
  readonly messageBytes: number;
  readonly blockBytes: number;
  readonly blocks: number;
  readonly steps: number;
  readonly timesOneCopy: number;
}

/** Estimates messages, blocks and steps. Small files and records add a little; messages overlap a little. */
export function planTransfer(contentBytes: number, options: CastCommandOptions): TransferPlan {
  const { algorithm: wished, blockSize, messageSize, bandwidthLimit, transport } = options;
  const nodes = options.targets.length + 1;
  const racks = racksOf(options);
  const choice = chooseTransfer(
    { contentBytes, members: nodes, racks, sharesMemory: transport === 'shm' },
    { algorithm: wished, blockBytes: blockSize, messageBytes: messageSize, bandwidthLimit },
  );
  const { algorithm, messageBytes, blockBytes } = choice;
  const shapeOf = (bytes: number): { blocks: number; steps: number } => {
    if (bytes === 0) return { blocks: 0, steps: 0 };
    const blocks = Math.ceil(bytes / blockBytes);
    return { blocks, steps: createSchedule({ algorithm, nodes, blocks, ...(racks && { racks }) }).steps };
  };
  const whole = Math.floor(contentBytes / messageBytes);
  const [full, last] = [shapeOf(messageBytes), shapeOf(contentBytes % messageBytes)];
  const blocks = whole * full.blocks + last.blocks;
  const steps = whole * full.steps + last.steps;
  const messages = Math.ceil(contentBytes / messageBytes);
  return {
    ...choice,
    messages,
    blocks,
    steps,
    timesOneCopy: blocks ? steps / blocks : 0,
  };
}

function planEvent(
  options: CastCommandOptions,
  receivers: readonly PlannedReceiver[],
  survey: FileSurvey,
): CastPlan {
  const { files, directories, links, bytes, contentBytes, problems, problemCount } = survey;
  const transfer = planTransfer(contentBytes, options);
  const { bandwidthLimit } = options;
  return {
    event: 'plan',
    paths: [...options.paths],
    receivers: receivers.map(({ target: { host, rack }, port, address }) => ({
      ...{
        name: formatEndpoint(port === 0 ? { host } : { host, port }),
        host,
        port,
        address,
        rack: rack ?? null,
      },
    })),
    ...{ files, directories, links, bytes, contentBytes },
    problems: problems.map(problemEvent),
    problemCount,
    ...transfer,
    seconds: bandwidthLimit ? (contentBytes / bandwidthLimit) * transfer.timesOneCopy : null,
  };
}

/** Makes the plan of a cast, without a connection to a receiver. */
export async function makePlan(
  options: CastCommandOptions,
  receivers: readonly PlannedReceiver[],
  signal: AbortSignal,
): Promise<CastPlan> {
  return planEvent(
    options,
    receivers,
    await surveyFiles(options.paths, { filters: options.filters, only: options.only, signal }),
  );
}

function receiverLine({ name, address, rack }: CastPlan['receivers'][number]): string {
  const parts = [
    name,
    ...(address ? [address] : ['the receiver will report its address']),
    ...(rack ? [`rack ${rack}`] : []),
  ];
  return `    ${parts.join('  ')}`;
}

/** The plan as text. */
export function describePlan(plan: CastPlan, bandwidthLimit: number | undefined, palette: Palette): string[] {
  const { bytes, contentBytes, algorithm, messages, blocks, steps, seconds } = plan;
  const holes = bytes > contentBytes ? `, ${formatBytes(contentBytes)} without holes` : '';
  const each = `${plural(messages, 'message')} of up to ${formatBytes(plan.messageBytes)}`;
  const limit =
    seconds === null ? [] : [`  at ${formatRate(bandwidthLimit ?? 0)}  about ${formatSeconds(seconds)}`];
  return [
    `${palette.bold('Would cast')} ${plan.paths.join(' ')} to ${plural(plan.receivers.length, 'receiver')}; nothing was sent.`,
    '',
    `  each gets  ${describeContents(plan)}${holes}`,
    `  schedule   ${algorithm}: ${each}, ${plural(blocks, 'block')} of ${formatBytes(plan.blockBytes)}, ${plural(steps, 'step')}`,
    `             ${algorithm}: ${plan.algorithmReason}; blocks: ${plan.blockReason}`,
    `  time       ${plan.timesOneCopy.toFixed(2)} times one copy to one receiver, if each link is as fast as the sender's`,
    ...limit,
    '  receivers',
    ...plan.receivers.map(receiverLine),
    ...plan.problems.map(
      ({ path, code, message }) => `  ${palette.yellow('left out')}  ${path}  ${code}: ${message}`,
    ),
  ];
}
