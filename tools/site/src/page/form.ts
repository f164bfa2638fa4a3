import type { Algorithm } from '@rdmc/schedule';
import { ALGORITHMS, type Settings, settled } from '../explorer/settings.js';
import { byId } from './svg.js';

const input = (id: string): HTMLInputElement => byId<HTMLInputElement>(id);
const list = (id: string): HTMLSelectElement => byId<HTMLSelectElement>(id);

/** The controls of page/explorer.html. */
export class Form {
  constructor(onChange: (settings: Settings) => void) {
    fill(list('algorithm'), ALGORITHMS);
    fill(list('beside'), ['none', ...ALGORITHMS]);
    byId<HTMLFormElement>('settings').addEventListener('change', () => onChange(this.read()));
    byId<HTMLFormElement>('settings').addEventListener('submit', (event) => event.preventDefault());
  }

  read(): Settings {
    const number = (id: string): number => input(id).valueAsNumber;
    const isSlow = input('slow').checked;
    return settled({
      algorithm: list('algorithm').value as Algorithm,
      beside: list('beside').value as Algorithm,
      nodes: number('nodes'),
      blocks: number('blocks'),
      racks: number('racks'),
      rate: number('rate'),
      slow: isSlow
        ? { a: number('slow-a'), b: number('slow-b'), ratio: number('slow-ratio') / 100 }
        : undefined,
    });
  }

  show(settings: Settings): void {
    list('algorithm').value = settings.algorithm;
    list('beside').value = settings.beside;
    for (const id of ['nodes', 'blocks', 'racks', 'rate'] as const) input(id).value = `${settings[id]}`;
    input('slow').checked = settings.slow !== undefined;
    byId<HTMLFieldSetElement>('slow-link').disabled = settings.slow === undefined;
    if (!settings.slow) return;
    input('slow-a').value = `${settings.slow.a}`;
    input('slow-b').value = `${settings.slow.b}`;
    input('slow-ratio').value = `${Math.round(settings.slow.ratio * 100)}`;
  }
}

function fill(select: HTMLSelectElement, names: readonly string[]): void {
  select.append(...names.map((name) => new Option(name, name)));
}
