import { FactoryError } from "../lib/errors.ts";
import type { Git, GitPlace } from "./git.ts";
import { MAX_BLOB_BYTES, readBlob } from "./read-blob.ts";
import type { BlobSource } from "./read-blob.ts";
import type { SecretMatch, SecretScanner } from "./secret-patterns.ts";
import type { StagedChange, StagedTree } from "./stage-tree.ts";

/** A secret that a commit would carry. */
export interface SecretFinding {
  readonly path: string;
  /** From 1; null when the file could not be scanned. */
  readonly line: number | null;
  readonly kind: string;
  /** Its first characters, fit to be shown. */
  readonly masked: string;
}

export interface ScanDeps {
  readonly git: Git;
  readonly scanner: SecretScanner;
}

/** Where the search stops: the first one refuses the commit already. */
const MAX_FINDINGS = 20;
const WINDOW_BYTES = 4 * 1024 * 1024;
/** Two windows share so much, so that a secret on their border is seen whole. */
const OVERLAP_BYTES = 16 * 1024;
const SHOWN_CHARS = 4;

/**
 * Secrets in the changed files of a staged tree; those that stand in `parent` already are not new and not found. A
 * file above 256 MiB is a finding: what was not scanned is not clean.
 */
export async function findSecrets(
  deps: ScanDeps,
  source: { readonly staged: StagedTree; readonly parent: string },
  signal: AbortSignal,
): Promise<SecretFinding[]> {
  const { staged, parent } = source;
  const blobs: BlobSource = { git: deps.git, place: staged.place, objectDirs: staged.objectDirs };
  const findings: SecretFinding[] = [];
  for (const change of staged.changes) {
    signal.throwIfAborted();
    if (change.blob === null || findings.length >= MAX_FINDINGS) continue;
    for await (const match of scanBlob(deps.scanner, { blobs, change, blob: change.blob }, signal)) {
      if (match.kind !== TOO_LARGE && (await isInParent(deps.git, { value: match.value, parent, place: staged.place }, signal))) continue;
      findings.push({ path: change.path, line: match.line, kind: match.kind, masked: `${match.value.slice(0, SHOWN_CHARS)}…` });
      if (findings.length >= MAX_FINDINGS) break;
    }
  }
  return findings;
}

/** @throws secret-found, naming file and line of the first finding. */
export function refuseSecrets(findings: readonly SecretFinding[]): void {
  const [first] = findings;
  if (first === undefined) return;
  const where = `${first.path}${first.line === null ? "" : `:${first.line}`}`;
  const more = findings.length === 1 ? "" : ` (and ${findings.length - 1} more)`;
  const what =
    first.kind === TOO_LARGE
      ? `is above ${MAX_BLOB_BYTES / 2 ** 20} MiB and cannot be scanned for secrets: keep it out of git`
      : `looks like a ${first.kind}: ${first.masked} masked; take it out of the file and read it from the environment`;
  throw new FactoryError("secret-found", `${where}: ${what}${more}`);
}

const TOO_LARGE = "too-large";

interface LocatedMatch extends Omit<SecretMatch, "index"> {
  readonly line: number | null;
}

async function* scanBlob(
  scanner: SecretScanner,
  source: { readonly blobs: BlobSource; readonly change: StagedChange; readonly blob: string },
  signal: AbortSignal,
): AsyncGenerator<LocatedMatch> {
  const seen = new Set<string>();
  try {
    for await (const { text, firstLine } of toWindows(readBlob(source.blobs, source.blob, signal))) {
      for (const { kind, value, index } of await scanner.find(text, source.change.path)) {
        const line = firstLine + countLines(text.slice(0, index));
        const key = `${line} ${value}`;
        if (!seen.has(key)) yield { kind, value, line };
        seen.add(key);
      }
    }
  } catch (error) {
    if (!(error instanceof FactoryError) || error.code !== "too-large") throw error;
    yield { kind: TOO_LARGE, value: "", line: null };
  }
}

/** Bytes as overlapping texts, with the line each begins in; NUL bytes left out, so that UTF-16 reads like ASCII. */
export async function* toWindows(chunks: AsyncIterable<Buffer>): AsyncGenerator<{ readonly text: string; readonly firstLine: number }> {
  let held: Buffer[] = [];
  let heldBytes = 0;
  let firstLine = 1;
  const toText = (bytes: Buffer): string => bytes.toString("latin1").replaceAll("\0", "");
  for await (const chunk of chunks) {
    held.push(chunk);
    heldBytes += chunk.length;
    if (heldBytes < WINDOW_BYTES) continue;
    const window = Buffer.concat(held);
    yield { text: toText(window), firstLine };
    const cut = Math.max(0, window.length - OVERLAP_BYTES);
    firstLine += countLines(window.toString("latin1", 0, cut));
    held = [window.subarray(cut)];
    heldBytes = window.length - cut;
  }
  if (heldBytes > 0) yield { text: toText(Buffer.concat(held)), firstLine };
}

function countLines(text: string): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) count++;
  return count;
}

const MIN_TELLING_CHARS = 8;

/** Whether a committed file holds the value already (a test's fixture, say). The value goes by stdin, never by argv. */
async function isInParent(
  git: Git,
  { value, parent, place }: { readonly value: string; readonly parent: string; readonly place: GitPlace },
  signal: AbortSignal,
): Promise<boolean> {
  const lines = value.split("\n").filter((line) => !line.startsWith("-----"));
  const telling = lines.toSorted((a, b) => b.length - a.length)[0]?.trim() ?? "";
  if (telling.length < MIN_TELLING_CHARS) return false;
  const args = ["grep", "--quiet", "--text", "--fixed-strings", "--no-textconv", "-f", "-", parent];
  const found = await git.attempt(args, { ...place, stdin: `${telling}\n` }, signal);
  return found.exitCode === 0;
}
