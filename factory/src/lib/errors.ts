/** Every code is listed in docs/errors.md with its remedy (a test compares). */
export const ERROR_CODES = [
  "bad-input",
  "unknown-workflow",
  "empty-workflow",
  "bad-workflow",
  "untrusted-workflow",
  "workflow-changed",
  "not-a-repository",
  "bad-ref",
  "git-failed",
  "not-found",
  "conflict",
  "unauthorized",
  "refused",
  "secret-found",
  "too-large",
  "bad-config",
  "base-owned",
  "database-unreachable",
  "database-newer",
  "port-in-use",
  "part-missing",
  "server-unreachable",
  "storage",
  "bad-scenario",
  "unknown-model",
  "unknown-provider",
  "no-journal",
] as const;
export type ErrorCode = (typeof ERROR_CODES)[number];

/** How a command ends on each kind of error (overview §5): 2 wrong input, 3 refused, 4 a part is missing. */
export type ExitCode = 0 | 1 | 2 | 3 | 4 | 130;

interface FactoryErrorOptions {
  readonly cause?: unknown;
  /** The field of the input that is wrong. */
  readonly field?: string;
}

/** A failure that an operator can mend: the message says what, which, and the mend. Bugs are plain throws. */
export class FactoryError extends Error {
  override readonly name: string = "FactoryError";
  readonly code: ErrorCode;
  readonly field: string | undefined;

  constructor(code: ErrorCode, message: string, { cause, field }: FactoryErrorOptions = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.field = field;
  }
}

const EXIT_CODES: Partial<Record<ErrorCode, ExitCode>> = {
  "untrusted-workflow": 3,
  unauthorized: 3,
  refused: 3,
  "secret-found": 3,
  "base-owned": 4,
  "database-unreachable": 4,
  "database-newer": 4,
  "port-in-use": 4,
  "part-missing": 4,
  "server-unreachable": 4,
  storage: 4,
  "no-journal": 1,
  "git-failed": 1,
};

/** The exit code of a command that ends with this error. Default 2: wrong usage or bad input; a code that is none of ours (a server's bug) is 1. */
export const toExitCode = (code: ErrorCode): ExitCode => EXIT_CODES[code] ?? (ERROR_CODES.includes(code) ? 2 : 1);

/** The message of anything thrown. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
