/** Links a program from the addon's objects; undefined if the addon was not built here. */
export function linkProgram(
  name: string,
  folder: string,
  more?: { readonly beside?: readonly string[]; readonly ibverbs?: boolean },
): Promise<string | undefined>;
