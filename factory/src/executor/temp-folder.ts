import { mkdir, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const FOLDER_MODE = 0o700;
/** What the CLIs keep of compiled code between starts: without it each start costs a second more. */
const JITI_CACHE = "jiti";
const NODE_CACHE = "node-compile-cache";

/**
 * A temporary folder of one attempt: the CLIs leave whole tool outputs in theirs. It goes with the attempt; the caches of
 * compiled code stay where they are.
 * @returns the environment that leads there.
 */
export async function makeTempFolder(folder: string): Promise<Record<string, string>> {
  const shared = join(tmpdir(), JITI_CACHE);
  await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
  await mkdir(shared, { recursive: true });
  await symlink(shared, join(folder, JITI_CACHE)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  return { TMPDIR: folder, NODE_COMPILE_CACHE: join(tmpdir(), NODE_CACHE) };
}
