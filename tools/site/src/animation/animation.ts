import { createSchedule, type Schedule, type Transfer } from '@rdmc/schedule';
import { between, type Point, placesOf } from '../explorer/layout.js';
import { blockName } from '../explorer/scene.js';

/** What the picture of the README shows. */
const NODES = 8;
const BLOCKS = 4;
const STEP_SECONDS = 0.45;
/** Steps at the end of a turn in which nothing moves. */
const PAUSE_STEPS = 4;
const RADIUS = 118;
const PANEL_WIDTH = 380;
const HEIGHT = 372;
const CELL = 9;

/**
 * The animated picture of the README: sequential beside the binomial pipeline, on one clock. CSS animations inside of
 * the SVG work where scripts do not run: in an `<img>` on GitHub and npm. Without motion it shows the end.
 */
export function animation(): string {
  const schedules = (['sequential', 'binomial-pipeline'] as const).map((algorithm) =>
    createSchedule({ algorithm, nodes: NODES, blocks: BLOCKS }),
  );
  const steps = Math.max(...schedules.map((schedule) => schedule.steps)) + PAUSE_STEPS;
  const panels = schedules.map((schedule, index) => panel(schedule, index * PANEL_WIDTH));
  const [slow, fast] = schedules.map((schedule) => schedule.steps);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${2 * PANEL_WIDTH} ${HEIGHT}" role="img" aria-labelledby="t d">
<title id="t">${BLOCKS} blocks to ${NODES} members, step by step</title>
<desc id="d">Left, the root sends every block itself: ${slow} steps. Right, the binomial pipeline, in which members forward blocks: ${fast} steps.</desc>
<style>${styles(schedules, steps)}</style>
${panels.join('\n')}
</svg>
`;
}

function panel(schedule: Schedule, left: number): string {
  const places = placesOf(new Array(NODES).fill(0)).map(
    ({ x, y }): Point => ({ x: left + PANEL_WIDTH / 2 + x * RADIUS, y: 220 + y * RADIUS }),
  );
  const moves = [...schedule.transfers()];
  const titles = [
    `<text class="h" x="${left + PANEL_WIDTH / 2}" y="26">${schedule.algorithm}</text>`,
    `<text class="n" x="${left + PANEL_WIDTH / 2}" y="48">${schedule.steps} steps</text>`,
    `<text class="n d s${schedule.steps - 1}" x="${left + PANEL_WIDTH / 2}" y="226">done</text>`,
  ];
  return [
    ...titles,
    ...moves.map((move) => link(move, places)),
    ...places.map((place, rank) => member(place, rank, moves)),
    ...moves.map((move) => block(move, places)),
  ].join('\n');
}

function link({ step, from, to }: Transfer, places: readonly Point[]): string {
  const [a, b] = [places[from]!, places[to]!];
  return `<path class="l" style="animation-delay:${delay(step)}" d="M${px(a.x)} ${px(a.y)}L${px(b.x)} ${px(b.y)}"/>`;
}

/** A disc with its rank, and below it a cell for each block, which lights up when the block has arrived. */
function member({ x, y }: Point, rank: number, moves: readonly Transfer[]): string {
  const arrivals = new Map(moves.filter(({ to }) => to === rank).map(({ block, step }) => [block, step]));
  const left = x - (BLOCKS * CELL) / 2;
  const cells = Array.from({ length: BLOCKS }, (_, index) => {
    const step = arrivals.get(index);
    const at = `x="${px(left + index * CELL)}" y="${px(y + 17)}" width="${CELL - 1}" height="6"`;
    return `<rect class="c${step === undefined ? ' b' : ` s${step}`}" ${at}/>`;
  });
  return `<circle class="m" cx="${px(x)}" cy="${px(y)}" r="14"/><text class="r" x="${px(x)}" y="${px(y + 4.5)}">${rank}</text>${cells.join('')}`;
}

/** A block that flies in its step and is invisible in all others. */
function block({ step, from, to, block }: Transfer, places: readonly Point[]): string {
  const a = between(places[from]!, places[to]!, 0.12);
  const b = between(places[from]!, places[to]!, 0.88);
  const path = `--x:${px(b.x - a.x)}px;--y:${px(b.y - a.y)}px;animation-delay:${delay(step)}`;
  return `<g class="f" style="${path}"><circle cx="${px(a.x)}" cy="${px(a.y)}" r="9"/><text x="${px(a.x)}" y="${px(a.y + 4)}">${blockName(block, BLOCKS)}</text></g>`;
}

function styles(schedules: readonly Schedule[], steps: number): string {
  const turn = `${px(steps * STEP_SECONDS)}s`;
  const share = (step: number): string => `${px((100 * step) / steps)}%`;
  const arrivals = new Set(
    schedules.flatMap((schedule) => [...schedule.transfers()].map(({ step }) => step)),
  );
  const cells = [...arrivals]
    .sort((a, b) => a - b)
    .map((step) => {
      const off = share(step + 0.95);
      return `@keyframes s${step}{0%,${off}{fill:var(--o)}${share(step + 1)},100%{fill:var(--f)}}.s${step}{animation-name:s${step}}`;
    });
  return `
svg{--t:#1b1f24;--q:#57606a;--m:#eaeef2;--o:#d0d7de;--f:#1a7f37;--a:#0a58ca;--p:#bfe0ff;font:13px system-ui,sans-serif;text-anchor:middle}
@media(prefers-color-scheme:dark){svg{--t:#e6edf3;--q:#9da7b3;--m:#21262d;--o:#3d444d;--f:#4cc965;--a:#6cb0ff;--p:#123a63}}
text{fill:var(--t)}.h{font-size:18px;font-weight:600}.n{fill:var(--q)}.m{fill:var(--m);stroke:var(--o)}
.c,.d{fill:var(--f);animation:${turn} step-end infinite}.d{--o:transparent;font-weight:600}.b{animation:none}
.f{opacity:0;animation:f ${turn} linear infinite}.f circle{fill:var(--p);stroke:var(--a)}.f text{font-size:12px;font-weight:600}
.l{stroke:var(--a);stroke-width:2;opacity:0;animation:l ${turn} step-end infinite}
@keyframes f{0%{opacity:1;transform:none}${share(0.85)}{opacity:1;transform:translate(var(--x),var(--y))}${share(0.95)}{opacity:1;transform:translate(var(--x),var(--y))}${share(0.96)},100%{opacity:0;transform:translate(var(--x),var(--y))}}
@keyframes l{0%{opacity:.6}${share(0.95)},100%{opacity:0}}
${cells.join('\n')}
@media(prefers-reduced-motion:reduce){*{animation:none!important}}
`;
}

function delay(step: number): string {
  return `${px(step * STEP_SECONDS)}s`;
}

function px(value: number): string {
  return `${Math.round(value * 100) / 100}`;
}
