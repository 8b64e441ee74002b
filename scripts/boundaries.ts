// The boundary rules of the house as data (overview §3): who may import what. oxlint.config.ts turns them into lint rules.

/** Folders of factory/src that are slices: each owns its `.sql.ts` and `.routes.ts`. */
export const SLICES = ["agents", "ai", "dispatch", "executor", "intake", "launcher", "llm-proxy", "projects", "runs", "trace"] as const;

/** A capability and its one door. */
export interface Boundary {
  readonly name: string;
  /** Modules that only the door may import. */
  readonly modules: readonly string[];
  /** Files of the door, as globs. */
  readonly doors: readonly string[];
  readonly message: string;
}

export const BOUNDARIES: readonly Boundary[] = [
  {
    name: "processes",
    modules: ["^(node:)?child_process$", "^(node:)?cluster$", "^@lydell/node-pty$", "^execa$"],
    doors: ["factory/src/launcher/**"],
    message: "Only launcher/ starts a process: use the Launcher (launcher/process.ts).",
  },
  {
    name: "model calls",
    modules: ["^undici$"],
    doors: ["factory/src/llm-proxy/**", "factory/src/ai/**"],
    message: "Only ai/ calls a model, through the proxy; only llm-proxy/ calls a provider.",
  },
  {
    name: "database drivers",
    modules: ["^pg$", "^@electric-sql/pglite", "^(node:)?sqlite$", "^kysely/migration$"],
    doors: ["factory/src/db/**", "factory/src/**/*.sql.ts"],
    message: "Only db/ opens a database; queries stand in *.sql.ts.",
  },
];

/** Another slice's queries and routes are not for import; its types and functions are. */
export const SLICE_PRIVATE = {
  pattern: `(^|/)(${SLICES.join("|")})/.*\\.(sql|routes)(\\.ts)?$`,
  message: "Another slice's .sql.ts and .routes.ts are its own: import its types and functions.",
} as const;

/** SQL is built only in *.sql.ts (and by db/ itself). */
export const SQL_DOORS = ["factory/src/**/*.sql.ts", "factory/src/db/**"] as const;
export const SQL_METHODS = ["selectFrom", "insertInto", "updateTable", "deleteFrom", "replaceInto", "mergeInto"] as const;
export const SQL_MESSAGE = "SQL stands in *.sql.ts, one exported function per query.";

export const ENVIRONMENT_DOOR = "factory/src/config.ts";
