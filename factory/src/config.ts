import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseEnv } from "node:util";
import { z } from "zod";
import { FactoryError, messageOf } from "./lib/errors.ts";

// The only reader of the process environment.

const optional = z
  .string()
  .transform((value) => (value.trim() === "" ? undefined : value.trim()))
  .optional();
const httpUrl = optional.pipe(z.url({ protocol: /^https?$/ }).optional());

const EnvSchema = z.object({
  HARNAIS_DATA_DIR: optional,
  HARNAIS_WORKTREES_DIR: optional,
  HARNAIS_ENV_FILE: optional,
  HARNAIS_PORT: optional.pipe(z.coerce.number<string | undefined>().int().min(0).max(65_535).optional()),
  HARNAIS_PUBLIC_URL: httpUrl,
  HARNAIS_URL: httpUrl,
  HARNAIS_TOKEN: optional,
  HARNAIS_PI: optional,
  HARNAIS_SCENARIOS: optional,
  HARNAIS_LOG_LEVEL: optional.pipe(z.enum(["trace", "debug", "info", "warn", "error", "silent"]).optional()),
  HARNAIS_CONCURRENCY: optional.pipe(z.coerce.number<string | undefined>().int().min(1).max(64).optional()),
  DATABASE_URL: optional.pipe(z.url({ protocol: /^postgres(ql)?$/ }).optional()),
});

export interface Config {
  /** Absolute. */
  readonly dataDir: string;
  /** True when HARNAIS_DATA_DIR named it: no search upward. */
  readonly isDataDirExplicit: boolean;
  readonly worktreesDir: string | undefined;
  readonly databaseUrl: string | undefined;
  /** Port of `serve`; 0 is any free one. Default 4600. */
  readonly port: number;
  readonly publicUrl: string | undefined;
  /** Server named by HARNAIS_URL, with HARNAIS_TOKEN. */
  readonly server: { readonly url: string; readonly token: string | undefined } | undefined;
  /** Another pi than the one in node_modules. */
  readonly piPath: string | undefined;
  /** Folder of further rehearsal scenarios. */
  readonly scenariosDir: string | undefined;
  readonly logLevel: "trace" | "debug" | "info" | "warn" | "error" | "silent";
  /** Runs that one process carries out at a time. Default 4. */
  readonly concurrency: number;
  /** Folder of the clone (or package) that holds contracts/, factory/ and probes/. */
  readonly rootDir: string;
  /** What every child process may see of our environment (PATH, locale, time zone, HOME of the user for git only). */
  readonly baseEnv: Readonly<Record<string, string>>;
  readonly userHome: string;
  /** The value of a secret that a row refers to by name; undefined when it is not set. */
  secret(name: string): string | undefined;
  /** Values of every secret the factory was given, for redaction. */
  knownSecrets(): readonly string[];
}

const PASSED_ON = ["PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR"];
const SECRET_NAME = /(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$/;
const MIN_SECRET_CHARS = 8;
const DATA_FOLDER = ".harnais-data";
const DEFAULT_PORT = 4600;
const DEFAULT_CONCURRENCY = 4;

export interface ConfigSource {
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  readonly searchUpward?: boolean;
}

/**
 * Reads and checks the configuration once. Without HARNAIS_DATA_DIR the data folder is the nearest `.harnais-data/` from
 * `cwd` upward, else one in `cwd` (D4); `searchUpward: false` (serve, demo) takes the one in `cwd`.
 * @throws bad-config, naming the variable.
 */
export function loadConfig({ env = process.env, cwd = process.cwd(), searchUpward = true }: ConfigSource = {}): Config {
  const parsed = EnvSchema.safeParse(env);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const name = String(issue?.path[0] ?? "environment");
    throw new FactoryError("bad-config", `${name}: ${issue?.message ?? "invalid"}; correct or unset it`, { field: name });
  }
  const values = parsed.data;
  const secrets = { ...readEnvFile(values.HARNAIS_ENV_FILE, cwd), ...definedEntries(env) };
  return Object.freeze({
    dataDir: values.HARNAIS_DATA_DIR === undefined ? findDataDir(cwd, searchUpward) : resolve(cwd, values.HARNAIS_DATA_DIR),
    isDataDirExplicit: values.HARNAIS_DATA_DIR !== undefined,
    worktreesDir: values.HARNAIS_WORKTREES_DIR === undefined ? undefined : resolve(cwd, values.HARNAIS_WORKTREES_DIR),
    databaseUrl: values.DATABASE_URL,
    port: values.HARNAIS_PORT ?? DEFAULT_PORT,
    publicUrl: values.HARNAIS_PUBLIC_URL,
    server: values.HARNAIS_URL === undefined ? undefined : { url: values.HARNAIS_URL, token: values.HARNAIS_TOKEN },
    piPath: values.HARNAIS_PI === undefined ? undefined : resolve(cwd, values.HARNAIS_PI),
    scenariosDir: values.HARNAIS_SCENARIOS === undefined ? undefined : resolve(cwd, values.HARNAIS_SCENARIOS),
    logLevel: values.HARNAIS_LOG_LEVEL ?? "warn",
    concurrency: values.HARNAIS_CONCURRENCY ?? DEFAULT_CONCURRENCY,
    rootDir: join(dirname(fileURLToPath(import.meta.url)), "..", ".."),
    baseEnv: Object.freeze(Object.fromEntries(PASSED_ON.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])))),
    userHome: env["HOME"] ?? homedir(),
    secret: (name: string) => secrets[name],
    knownSecrets: () =>
      Object.entries(secrets)
        .filter(([name, value]) => SECRET_NAME.test(name) && value.length >= MIN_SECRET_CHARS)
        .map(([, value]) => value),
  });
}

function findDataDir(cwd: string, searchUpward: boolean): string {
  const own = resolve(cwd, DATA_FOLDER);
  if (!searchUpward) return own;
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    const candidate = join(folder, DATA_FOLDER);
    if (existsSync(candidate)) return candidate;
    if (folder === dirname(folder)) return own;
  }
}

function readEnvFile(file: string | undefined, cwd: string): Record<string, string> {
  if (file === undefined) return {};
  try {
    return definedEntries(parseEnv(readFileSync(resolve(cwd, file), "utf8")));
  } catch (error) {
    throw new FactoryError("bad-config", `HARNAIS_ENV_FILE: cannot read ${file} (${messageOf(error)})`, {
      field: "HARNAIS_ENV_FILE",
      cause: error,
    });
  }
}

function definedEntries(env: NodeJS.Dict<string>): Record<string, string> {
  return Object.fromEntries(Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}
