import { existsSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseEnv } from "node:util";
import { z } from "zod";
import { FactoryError, messageOf } from "./lib/errors.ts";
import { MIN_KNOWN_CHARS } from "./lib/redaction.ts";

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
  readonly worktreesDir: string | undefined;
  readonly databaseUrl: string | undefined;
  /** Port of `serve`; 0 is any free one. Default 4600. */
  readonly port: number;
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
  /** What every child process may see of our environment: PATH, locale, time zone, certificates. */
  readonly baseEnv: Readonly<Record<string, string>>;
  /** The value of a secret that a row refers to by name; undefined when it is not set. */
  secret(name: string): string | undefined;
  /**
   * Values of every secret the factory was given, for redaction: all of HARNAIS_ENV_FILE, variables named like a secret,
   * those of `names` (what rows refer to), the password of DATABASE_URL. None is shorter than `MIN_KNOWN_CHARS`.
   */
  knownSecrets(names?: readonly string[]): readonly string[];
}

const PASSED_ON = ["PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR"];
const SECRET_NAME = /(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$/;
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
  const fileEnv = readEnvFile(values.HARNAIS_ENV_FILE, cwd);
  const ownEnv = definedEntries(env);
  const secrets = { ...fileEnv, ...ownEnv };
  return Object.freeze({
    dataDir: values.HARNAIS_DATA_DIR === undefined ? findDataDir(cwd, searchUpward) : resolve(cwd, values.HARNAIS_DATA_DIR),
    worktreesDir: values.HARNAIS_WORKTREES_DIR === undefined ? undefined : resolve(cwd, values.HARNAIS_WORKTREES_DIR),
    databaseUrl: values.DATABASE_URL,
    port: values.HARNAIS_PORT ?? DEFAULT_PORT,
    server: values.HARNAIS_URL === undefined ? undefined : { url: values.HARNAIS_URL, token: values.HARNAIS_TOKEN },
    piPath: values.HARNAIS_PI === undefined ? undefined : resolve(cwd, values.HARNAIS_PI),
    scenariosDir: values.HARNAIS_SCENARIOS === undefined ? undefined : resolve(cwd, values.HARNAIS_SCENARIOS),
    logLevel: values.HARNAIS_LOG_LEVEL ?? "warn",
    concurrency: values.HARNAIS_CONCURRENCY ?? DEFAULT_CONCURRENCY,
    rootDir: join(dirname(fileURLToPath(import.meta.url)), "..", ".."),
    baseEnv: Object.freeze(Object.fromEntries(PASSED_ON.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])))),
    secret: (name: string) => secrets[name],
    knownSecrets: (names: readonly string[] = []) => {
      const named = Object.entries(ownEnv).flatMap(([name, value]) => (SECRET_NAME.test(name) || names.includes(name) ? [value] : []));
      const all = [...Object.values(fileEnv), ...named, ...passwordsOf(values.DATABASE_URL)];
      return [...new Set(all)].filter((value) => value.length >= MIN_KNOWN_CHARS);
    },
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
    const path = realpathSync(resolve(cwd, file));
    const text = readFileSync(path, "utf8");
    refuseInRepository(path);
    return definedEntries(parseEnv(text));
  } catch (error) {
    if (error instanceof FactoryError) throw error;
    throw new FactoryError("bad-config", `HARNAIS_ENV_FILE: cannot read ${file} (${messageOf(error)})`, {
      field: "HARNAIS_ENV_FILE",
      cause: error,
    });
  }
}

/** What lies in a repository is committed one day, or read by an agent. @throws bad-config */
function refuseInRepository(file: string): void {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    if (existsSync(join(folder, ".git")))
      throw new FactoryError(
        "bad-config",
        `HARNAIS_ENV_FILE: ${file} lies in the git repository ${folder}: move it out of any repository`,
        {
          field: "HARNAIS_ENV_FILE",
        },
      );
    if (folder === dirname(folder)) return;
  }
}

/** The password of a database's URL, as written and as meant. */
function passwordsOf(databaseUrl: string | undefined): string[] {
  if (databaseUrl === undefined) return [];
  const { password, searchParams } = new URL(databaseUrl);
  return [password, decode(password), ...searchParams.getAll("password")];
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function definedEntries(env: NodeJS.Dict<string>): Record<string, string> {
  return Object.fromEntries(Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}
