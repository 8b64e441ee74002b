import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Makes a folder and those above it, one at a time: Node's own recursive mkdir never returns where a parent can never
 * exist (`/proc/x/y`). A folder that is there stays as it is.
 * @throws the system's error.
 */
export function makeFolder(folder: string, mode: number): void {
  if (isFolder(folder)) return;
  const parent = dirname(folder);
  if (parent !== folder) makeFolder(parent, mode);
  try {
    mkdirSync(folder, mode);
  } catch (error) {
    // Somebody else was faster.
    if (!isFolder(folder)) throw error;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
