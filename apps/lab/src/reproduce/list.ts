import { catalogue } from '../catalogue/catalogue.js';
import { type Figure, paperNames, type Way } from '../catalogue/figure.js';
import { recordOf } from '../record/read.js';

/** All figures with their ways. @throws LabError for a record that cannot be read */
export function listLines(folder: string): string[] {
  return catalogue.flatMap((figure) => [
    `${figure.id.padEnd(18)} ${paperNames[figure.paper]} ${figure.label}: ${figure.title}`,
    ...figure.ways.map((way) => wayLine(figure, way, folder)),
    ...(figure.lacks === undefined ? [] : [`${' '.repeat(20)}lacks: ${figure.lacks}`]),
  ]);
}

function wayLine({ id }: Figure, way: Way, folder: string): string {
  const record = recordOf(folder, id, way.id);
  const state = record === undefined ? 'not recorded yet' : `recorded ${record.date}`;
  const how = way.run === undefined ? 'by hand' : `about ${way.minutes} min`;
  const root = way.needsRoot ? ', needs root' : '';
  return `${' '.repeat(20)}${way.id}: ${way.kind}, ${state}, ${how}${root}`;
}
