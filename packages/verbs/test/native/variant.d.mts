/** Links a program out of the addon's objects; undefined where the addon was not built here. */
export function linkProgram(
  name: string,
  folder: string,
  more?: { readonly beside?: readonly string[]; readonly ibverbs?: boolean },
): Promise<string | undefined>;
