import type { Algorithm } from '@rdmc/schedule';
import { placesOf } from '../explorer/layout.js';
import { movesText, sceneAt } from '../explorer/scene.js';
import { racksOf, type Settings } from '../explorer/settings.js';
import { type Timeline, timelineOf } from '../explorer/timeline.js';
import { Picture } from './picture.js';

/** One schedule on the page: its picture, its numbers, and what moves as text. */
export class Panel {
  readonly timeline: Timeline;
  readonly element = document.createElement('section');
  readonly #picture: Picture;
  readonly #places: ReturnType<typeof placesOf>;
  readonly #numbers = document.createElement('p');
  readonly #moves = document.createElement('p');

  constructor(
    private readonly settings: Settings,
    readonly algorithm: Algorithm,
  ) {
    this.timeline = timelineOf(settings, algorithm);
    this.#places = placesOf(racksOf(settings));
    const { nodes, blocks } = settings;
    this.#picture = new Picture(this.#places, blocks, `${algorithm}: ${blocks} blocks to ${nodes} members`);
    const heading = document.createElement('h2');
    heading.textContent = algorithm;
    this.#numbers.className = 'numbers';
    this.#moves.className = 'moves';
    this.element.className = 'panel';
    this.element.dataset.algorithm = algorithm;
    this.element.append(heading, this.#numbers, this.#picture.element, this.#moves);
  }

  show(time: number, isSmooth: boolean): void {
    const { settings, timeline } = this;
    const scene = sceneAt(timeline, time, this.#places, { slow: settings.slow, isSmooth });
    this.#picture.show(scene);
    const { steps } = timeline.schedule;
    Object.assign(this.element.dataset, {
      steps: `${steps}`,
      duration: `${timeline.duration}`,
      delivered: `${scene.delivered}`,
      total: `${scene.total}`,
    });
    const state = scene.isComplete ? 'done' : `${scene.delivered} of ${scene.total} blocks delivered`;
    const times = settings.slow ? `, ${rounded(timeline.duration)} block times` : '';
    this.#numbers.textContent = `${steps} steps${times} — ${state}`;
    this.#moves.textContent =
      movesText(scene, settings.blocks) || (scene.isComplete ? 'All members have all blocks.' : '');
  }
}

function rounded(value: number): string {
  return `${Math.round(value * 100) / 100}`;
}
