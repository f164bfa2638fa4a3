/** Links a program out of the addon's objects; undefined where the addon was not built here. */
export function linkProgram(
  name: string,
  folder: string,
  beside?: readonly string[],
): Promise<string | undefined>;
