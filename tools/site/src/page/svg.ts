const NAMESPACE = 'http://www.w3.org/2000/svg';

type Attributes = Readonly<Record<string, string | number>>;

/** Creates an SVG element. */
export function svg<Name extends keyof SVGElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...children: readonly (Node | string)[]
): SVGElementTagNameMap[Name] {
  const element = document.createElementNS(NAMESPACE, name);
  update(element, attributes);
  element.append(...children);
  return element;
}

export function update(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, `${value}`);
}

/** An HTML element by its id. Ids are those of page/explorer.html. */
export function byId<T extends Element = HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) throw new Error(`The page does not have an element '${id}'`);
  return found as unknown as T;
}
