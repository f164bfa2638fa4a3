import { discRadius, type Point } from '../explorer/layout.js';
import { blockName, type Scene } from '../explorer/scene.js';
import { svg, update } from './svg.js';

/** Half the width of the picture; the circle of members has the radius 1. */
const EXTENT = 1.25;
const RING = 0.028;

/** The picture of one schedule: discs for members, whose rings show how many blocks they have. */
export class Picture {
  readonly #svg: SVGSVGElement;
  readonly #rings: SVGCircleElement[] = [];
  readonly #moving = svg('g');
  readonly #radius: number;

  constructor(
    places: readonly Point[],
    private readonly blocks: number,
    title: string,
  ) {
    this.#radius = discRadius(places.length);
    const viewBox = `${-EXTENT} ${-EXTENT} ${2 * EXTENT} ${2 * EXTENT}`;
    this.#svg = svg('svg', { viewBox, role: 'img', 'aria-label': title, class: 'picture' });
    const members = places.map((place, rank) => this.#member(place, rank));
    this.#svg.append(this.#moving, svg('g', {}, ...members));
  }

  get element(): SVGSVGElement {
    return this.#svg;
  }

  show(scene: Scene): void {
    scene.held.forEach((held, rank) => {
      const share = held / this.blocks;
      update(this.#rings[rank]!, {
        'stroke-dasharray': `${share} 1`,
        class: share === 1 ? 'ring full' : 'ring',
      });
    });
    this.#moving.replaceChildren(...scene.flights.flatMap((flight) => this.#flight(flight)));
  }

  #member({ x, y }: Point, rank: number): SVGGElement {
    const r = this.#radius;
    // The ring begins on top, and its length counts as 1.
    const around = { cx: 0, cy: 0, r: r + RING, pathLength: 1, transform: 'rotate(-90)' };
    const ring = svg('circle', { ...around, class: 'ring', 'stroke-dasharray': '0 1' });
    this.#rings.push(ring);
    return svg(
      'g',
      { transform: `translate(${x} ${y})` },
      svg('circle', { r, class: 'member' }),
      ring,
      svg('text', { class: 'rank', 'font-size': r, dy: '0.35em' }, `${rank}`),
    );
  }

  #flight({ from, to, at, move, isSlow }: Scene['flights'][number]): SVGElement[] {
    const ends = { x1: from.x, y1: from.y, x2: to.x, y2: to.y };
    const size = Math.max(0.05, this.#radius * 0.62);
    return [
      svg('line', { ...ends, class: isSlow ? 'link slow' : 'link' }),
      svg(
        'g',
        { transform: `translate(${at.x} ${at.y})`, class: 'block' },
        svg('circle', { r: size, style: `--hue:${hueOf(move.block, this.blocks)}` }),
        svg('text', { 'font-size': size, dy: '0.35em' }, blockName(move.block, this.blocks)),
      ),
    ];
  }
}

function hueOf(block: number, blocks: number): number {
  return Math.round((block * 360) / blocks + 210) % 360;
}
