import { launch } from "./launch.ts";
import type { Launcher } from "./process.ts";
import { runCommand } from "./run-command.ts";
import { sweepMarked } from "./sweep.ts";

/** The door to processes that main.ts hands to the slices. */
export const createLauncher = (): Launcher => ({ launch, runCommand, sweep: sweepMarked });
