import { LabError } from '../errors.js';
import type { Figure } from './figure.js';
import { figure5a } from './hipower/figure-5a.js';
import { figure5b } from './hipower/figure-5b.js';
import { figure5c } from './hipower/figure-5c.js';
import { figure6a } from './hipower/figure-6a.js';
import { figure6b } from './hipower/figure-6b.js';
import { figure6c } from './hipower/figure-6c.js';
import { gpuFigures } from './hipower/gpu.js';
import { resnet } from './hipower/resnet.js';
import { figure4 } from './rdmc/figure-4.js';
import { figure5 } from './rdmc/figure-5.js';
import { figure6 } from './rdmc/figure-6.js';
import { figure7 as rdmcFigure7 } from './rdmc/figure-7.js';
import { figure8 as rdmcFigure8 } from './rdmc/figure-8.js';
import { figure9 as rdmcFigure9 } from './rdmc/figure-9.js';
import { figure10a } from './rdmc/figure-10a.js';
import { figure10b } from './rdmc/figure-10b.js';
import { figure11 as rdmcFigure11 } from './rdmc/figure-11.js';
import { figure12 as rdmcFigure12 } from './rdmc/figure-12.js';
import { section45 } from './rdmc/section-4-5.js';
import { table1 } from './rdmc/table-1.js';
import { figure7 } from './tailwind/figure-7.js';
import { figure8 } from './tailwind/figure-8.js';
import { figure9 } from './tailwind/figure-9.js';
import { figure10 } from './tailwind/figure-10.js';
import { figure11 } from './tailwind/figure-11.js';
import { figure12 } from './tailwind/figure-12.js';
import { figure13 } from './tailwind/figure-13.js';

const hipower = [figure5a, figure5b, figure5c, figure6a, figure6b, figure6c, ...gpuFigures];

/** Every figure and every table of results of the three papers, in the order of the papers. */
export const catalogue: readonly Figure[] = [
  figure4,
  table1,
  figure5,
  figure6,
  rdmcFigure7,
  rdmcFigure8,
  rdmcFigure9,
  figure10a,
  figure10b,
  rdmcFigure11,
  rdmcFigure12,
  section45,
  ...hipower.sort((a, b) => (a.id < b.id ? -1 : 1)),
  resnet,
  figure7,
  figure8,
  figure9,
  figure10,
  figure11,
  figure12,
  figure13,
];

/** The figure with this id. @throws LabError ERR_RDMC_UNKNOWN_FIGURE, with all ids */
export function figureOf(id: string): Figure {
  const found = catalogue.find((figure) => figure.id === id);
  if (found) return found;
  const ids = catalogue.map((figure) => figure.id).join(', ');
  throw new LabError('ERR_RDMC_UNKNOWN_FIGURE', `No figure has the id '${id}'; the ids are ${ids}`);
}
