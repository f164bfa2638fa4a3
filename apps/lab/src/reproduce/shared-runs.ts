import { runProgram } from '../benchmark/command.js';
import type { Bench } from '../catalogue/figure.js';
import { busyPercent, loadNow } from '../record/machine.js';

/** A run of a program: what it printed, and the other work on the machine around it. */
interface Run {
  readonly output: string;
  readonly busy: number;
  readonly before: number;
  readonly after: number;
}

/** What a run is made with; tests have their own. */
interface Machine {
  readonly program: typeof runProgram;
  busyPercent(): Promise<number>;
  loadNow(): number;
}

const THIS_MACHINE: Machine = { program: runProgram, busyPercent, loadNow };

/** The programs of one way, and the load of the machine around them. */
interface WayRuns {
  readonly command: Bench['command'];
  /** Absent if the way did not run a program. */
  load(): string | undefined;
}

/** Runs programs. One that several figures need runs once, and its load is that of this run. */
export class SharedRuns {
  readonly #runs = new Map<string, Promise<Run>>();

  constructor(private readonly machine: Machine = THIS_MACHINE) {}

  forWay(): WayRuns {
    const runs: Run[] = [];
    return {
      command: async (args, env = {}) => {
        const run = await this.#shared(args, env);
        runs.push(run);
        return run.output;
      },
      load: () => loadOf(runs),
    };
  }

  #shared(args: readonly string[], env: Readonly<Record<string, string>>): Promise<Run> {
    const key = JSON.stringify([args, env]);
    const run = this.#runs.get(key) ?? this.#run(args, env);
    this.#runs.set(key, run);
    return run;
  }

  async #run(args: readonly string[], env: Readonly<Record<string, string>>): Promise<Run> {
    const { machine } = this;
    const [busy, before] = [await machine.busyPercent(), machine.loadNow()];
    const output = await machine.program(args, env);
    return { output, busy, before, after: machine.loadNow() };
  }
}

/** Before the first program and after the last one: between them a way's own programs are the load. */
function loadOf(runs: readonly Run[]): string | undefined {
  const [first, last] = [runs[0], runs.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  const { busy, before } = first;
  return `processors ${busy}% busy before, load average ${before.toFixed(1)} before, ${last.after.toFixed(1)} after`;
}
