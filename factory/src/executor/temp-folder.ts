import { lstat, mkdir, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const FOLDER_MODE = 0o700;
const OTHERS = 0o077;
/** What the CLIs keep of compiled code between starts: without it a start costs 2 s more, so one cache serves all data folders. */
const JITI_CACHE = "jiti";
const NODE_CACHE = "node-compile-cache";

/**
 * A temporary folder of one attempt: the CLIs leave whole tool outputs in theirs. It goes with the attempt; the caches of
 * compiled code stay where they are, unless somebody else could write there: then the attempt compiles for itself.
 * @returns the environment that leads there.
 */
export async function makeTempFolder(folder: string, root: string = tmpdir()): Promise<Record<string, string>> {
  await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
  const cache = await makeCacheFolder(join(root, `harnais-cache-${process.getuid?.() ?? 0}`));
  if (cache === undefined) return { TMPDIR: folder, NODE_COMPILE_CACHE: join(folder, NODE_CACHE) };
  const jiti = join(cache, JITI_CACHE);
  await mkdir(jiti, { recursive: true, mode: FOLDER_MODE });
  await symlink(jiti, join(folder, JITI_CACHE)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  return { TMPDIR: folder, NODE_COMPILE_CACHE: join(cache, NODE_CACHE) };
}

/** What is run from there must be the user's own: its name can be guessed, so its owner and mode are checked. Undefined: not usable. */
async function makeCacheFolder(path: string): Promise<string | undefined> {
  try {
    await mkdir(path, { mode: FOLDER_MODE });
    return path;
  } catch {
    const found = await lstat(path).catch(() => undefined);
    const isOwn =
      found !== undefined && found.isDirectory() && (found.mode & OTHERS) === 0 && found.uid === (process.getuid?.() ?? found.uid);
    return isOwn ? path : undefined;
  }
}
