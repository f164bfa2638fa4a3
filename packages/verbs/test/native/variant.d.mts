/** Links a program out of the addon's objects; undefined where the addon was not built here. */
export function linkProgram(name: string, folder: string): Promise<string | undefined>;
