import { discRadius, type Point } from '../explorer/layout.js';
import { blockName, type Flight, type Scene } from '../explorer/scene.js';
import { svg, update } from './svg.js';

/** Units of the picture for one unit of the layout: browsers measure short paths inexactly. */
const SCALE = 100;
/** Half the width of the picture. */
const EXTENT = 1.25 * SCALE;
const RING = 2.8;

/** The picture of one schedule: discs for members, whose rings show how many blocks they have. */
export class Picture {
  readonly #svg: SVGSVGElement;
  readonly #rings: SVGCircleElement[] = [];
  readonly #links = svg('g');
  readonly #flying = svg('g');
  readonly #radius: number;

  constructor(
    places: readonly Point[],
    private readonly blocks: number,
    title: string,
  ) {
    this.#radius = discRadius(places) * SCALE;
    const viewBox = `${-EXTENT} ${-EXTENT} ${2 * EXTENT} ${2 * EXTENT}`;
    this.#svg = svg('svg', { viewBox, role: 'img', 'aria-label': title, class: 'picture' });
    const members = places.map((place, rank) => this.#member(place, rank));
    this.#svg.append(this.#links, svg('g', {}, ...members), this.#flying);
  }

  get element(): SVGSVGElement {
    return this.#svg;
  }

  show(scene: Scene): void {
    scene.held.forEach((held, rank) => {
      const share = held / this.blocks;
      update(this.#rings[rank]!, {
        'stroke-dasharray': share === 1 ? 'none' : `${share} 1`,
        class: share === 1 ? 'ring full' : 'ring',
      });
    });
    this.#links.replaceChildren(...scene.flights.map(linkOf));
    this.#flying.replaceChildren(...scene.flights.map((flight) => this.#block(flight)));
  }

  #member({ x, y }: Point, rank: number): SVGGElement {
    const r = this.#radius;
    // The ring begins on top, and its length counts as 1.
    const around = { cx: 0, cy: 0, r: r + RING, pathLength: 1, transform: 'rotate(-90)' };
    const ring = svg('circle', { ...around, class: 'ring', 'stroke-dasharray': '0 1' });
    this.#rings.push(ring);
    return svg(
      'g',
      { transform: `translate(${x * SCALE} ${y * SCALE})` },
      svg('circle', { r, class: 'member' }),
      ring,
      svg('text', { class: 'rank', 'font-size': r, dy: '0.35em' }, `${rank}`),
    );
  }

  #block({ at, move }: Flight): SVGGElement {
    const size = Math.max(4, this.#radius * 0.55);
    const name = blockName(move.block, this.blocks);
    return svg(
      'g',
      { transform: `translate(${at.x * SCALE} ${at.y * SCALE})`, class: 'block' },
      svg('circle', { r: size, style: `--hue:${hueOf(move.block, this.blocks)}` }),
      svg('text', { 'font-size': size, dy: '0.35em' }, name),
    );
  }
}

function linkOf({ from, to, isSlow }: Flight): SVGLineElement {
  const ends = { x1: from.x * SCALE, y1: from.y * SCALE, x2: to.x * SCALE, y2: to.y * SCALE };
  return svg('line', { ...ends, class: isSlow ? 'link slow' : 'link' });
}

function hueOf(block: number, blocks: number): number {
  return Math.round((block * 360) / blocks + 210) % 360;
}
