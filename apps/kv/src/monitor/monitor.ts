import { DEFAULT_SLOW_LOG_COMMANDS, DEFAULT_SLOW_LOG_US } from '../limits.js';
import type { Arguments } from '../resp/arguments.js';
import { Latency } from './latency.js';
import { SlowLog } from './slow-log.js';

/** A brief command does not take so long, unless the whole process is held up. */
const BRIEF_MS = 1;

/** A password must not be kept; of a transaction, its commands are. */
const NOT_LOGGED = ['no_auth', 'skip_slowlog'];

/** The thresholds of SLOWLOG and LATENCY. */
export interface MonitorOptions {
  /** Microseconds from which on a command is in the slow log (default 10,000); 0: each command; negative: none. */
  readonly slowLogUs?: number | undefined;
  /** Commands that the slow log keeps (default 128). */
  readonly slowLogCommands?: number | undefined;
  /** Milliseconds from which on an event is in the reply of LATENCY; 0 (default): none. */
  readonly latencyMs?: number | undefined;
}

/** What took long at this server. */
export class Monitor {
  readonly slowLog: SlowLog;
  readonly latency: Latency;
  /** Whether commands are timed that are brief by their nature: only under a threshold that they can reach. */
  readonly timesBrief: boolean;
  readonly timesOthers: boolean;
  /** Commands that took less are in neither list. */
  readonly #leastMs: number;

  constructor({ slowLogUs, slowLogCommands, latencyMs }: MonitorOptions = {}) {
    this.slowLog = new SlowLog(
      slowLogUs ?? DEFAULT_SLOW_LOG_US,
      slowLogCommands ?? DEFAULT_SLOW_LOG_COMMANDS,
    );
    this.latency = new Latency(latencyMs ?? 0);
    const { thresholdUs } = this.slowLog;
    const isLow = thresholdUs >= 0 && thresholdUs < BRIEF_MS * 1000;
    this.timesBrief = isLow || this.latency.isOn;
    this.timesOthers = thresholdUs >= 0 || this.latency.isOn;
    // The slow log rounds to whole microseconds.
    const slowMs = thresholdUs >= 0 ? (thresholdUs - 1) / 1000 : Number.POSITIVE_INFINITY;
    this.#leastMs = this.latency.isOn ? Math.min(slowMs, this.latency.thresholdMs) : slowMs;
  }

  /** A command that was timed has run. */
  ran(
    command: { readonly isBrief: boolean; readonly flags: readonly string[] },
    args: Arguments,
    client: { readonly address: string; readonly name: string },
    durationMs: number,
  ): void {
    if (durationMs < this.#leastMs) return;
    this.latency.add(command.isBrief ? 'fast-command' : 'command', durationMs);
    if (!command.flags.some((flag) => NOT_LOGGED.includes(flag))) this.slowLog.add(args, durationMs, client);
  }
}
