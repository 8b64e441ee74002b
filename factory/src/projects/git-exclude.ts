import { appendFile, mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/** Folders in a worktree that are the factory's, never part of a commit. */
export const FACTORY_FOLDERS = [".harnais-out", ".harnais-context"] as const;

/** Names the factory's folders in the clone's local exclude file, once; worktrees read the same file. */
export async function excludeFactoryFolders(commonDir: string): Promise<void> {
  const file = join(commonDir, "info", "exclude");
  const text = await readFile(file, "utf8").catch(() => "");
  const present = new Set(text.split(/\r?\n/));
  const missing = FACTORY_FOLDERS.map((folder) => `/${folder}/`).filter((line) => !present.has(line));
  if (missing.length === 0) return;
  await mkdir(dirname(file), { recursive: true });
  await appendFile(file, `${text === "" || text.endsWith("\n") ? "" : "\n"}${missing.join("\n")}\n`);
}
