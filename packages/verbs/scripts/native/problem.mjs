/** Something that is missing: its message, which says what to do, is all that is printed. */
export class BuildProblem extends Error {}
