import manifest from "../../package.json" with { type: "json" };

/** The factory's version, as its package names it. */
export const VERSION: string = manifest.version;
