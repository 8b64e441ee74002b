import { FactoryError } from "../lib/errors.ts";

const MAX_REF_CHARS = 200;
const REF = /^[A-Za-z0-9][\w./-]*$/;
// git-check-ref-format(1): no `..`, no `//`, no component that starts with `.` or ends with `.lock`, no end in `.` or `/`.
const FORBIDDEN = /\.\.|\/\/|\/\.|\.lock(?:\/|$)|[./]$/;

/**
 * A branch name or commit id that is safe to hand to git: never an option, never a range or a path.
 * @throws bad-ref, naming `field`.
 */
export function parseRef(ref: string, field: string): string {
  if (ref.length <= MAX_REF_CHARS && REF.test(ref) && !FORBIDDEN.test(ref)) return ref;
  const shown = JSON.stringify(ref.slice(0, 80));
  throw new FactoryError(
    "bad-ref",
    `${field}: ${shown} is no branch name: letters, digits, '.', '_', '-' and '/', beginning with a letter or digit`,
    { field },
  );
}

/** The branch a run works on. */
export const toRunBranch = (runId: string): string => `harnais/${parseRef(runId, "run id")}`;

/** Text as one component of a ref name: what does not fit becomes `-`. */
export function toRefComponent(text: string): string {
  const component = text.replace(/[^A-Za-z0-9_-]+/g, "-").replace(/^-+|-+$/g, "");
  return component === "" ? "phase" : component.slice(0, MAX_REF_CHARS / 2);
}
